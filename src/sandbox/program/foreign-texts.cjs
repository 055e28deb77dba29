'use strict';
/** Patterns for texts of other programs, matched by the programs of a run. */

/** Finds `Test timeout of 2000ms exceeded` in an error of Playwright. */
function testTimeoutIn(message) {
  return /Test timeout of \d+ms exceeded/.exec(message)?.[0];
}

/** Finds the error name at the start of a V8 message or stack: `TypeError`. */
function errorNameIn(text) {
  return /^(\w*Error)\b/.exec(text)?.[1];
}

/** Whether an error of the package tar means that the file is not an archive, or is incomplete. */
function isArchiveBroken(message) {
  return /tar header|Unexpected end of data/i.test(message);
}

/** Whether Chromium, Firefox or WebKit says that a load was aborted, by leaving or closing the page. */
function abortedLoad(reason) {
  return (
    reason === 'net::ERR_ABORTED' ||
    reason === 'NS_BINDING_ABORTED' ||
    /^Load request cancelled$/i.test(reason)
  );
}

module.exports = { testTimeoutIn, errorNameIn, isArchiveBroken, abortedLoad };
