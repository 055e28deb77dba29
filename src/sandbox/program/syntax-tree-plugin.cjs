'use strict';
/**
 * A Babel plugin that keeps the syntax tree before it is transformed: for versions of Playwright that offer
 * no parser.
 */
let kept;

module.exports = () => ({
  pre(file) {
    // A copy: what comes after changes it.
    kept = JSON.parse(JSON.stringify(file.ast));
  },
});

module.exports.take = () => {
  const tree = kept;
  kept = undefined;
  return tree;
};
