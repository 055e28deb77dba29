'use strict';
/**
 * Playwright checks the tags and annotations of each test with a library of schemas, whose start is a twentieth of the processor
 * time of a short run. Most tests have neither: their result is known without it.
 */

/**
 * Returns what stands for Playwright's validators.js.
 *
 * @param load loads it.
 */
function validatorsWhenNeeded(load) {
  return {
    __esModule: true,
    validateTestAnnotation: (...args) => load().validateTestAnnotation(...args),
    validateTestDetails: (details, location, ...rest) =>
      isWithout(details)
        ? { annotations: [], tags: [], location }
        : load().validateTestDetails(details, location, ...rest),
  };
}

function isWithout(details) {
  return (
    typeof details === 'object' &&
    details !== null &&
    details.tag === undefined &&
    details.annotation === undefined
  );
}

module.exports = { validatorsWhenNeeded };
