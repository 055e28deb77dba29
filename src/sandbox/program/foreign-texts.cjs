'use strict';
/** Texts of other programs that the programs of a run match. */

/** `Test timeout of 2000ms exceeded`, where an error of Playwright says that the time of a test was over. */
function testTimeoutIn(message) {
  return /Test timeout of \d+ms exceeded/.exec(message)?.[0];
}

/** The name of an error at the head of a message or stack of V8: `TypeError`. */
function errorNameIn(text) {
  return /^(\w*Error)\b/.exec(text)?.[1];
}

/** Whether an error of the package tar says that the file is no archive, or not a whole one. */
function isArchiveBroken(message) {
  return /tar header|Unexpected end of data/i.test(message);
}

module.exports = { testTimeoutIn, errorNameIn, isArchiveBroken };
