'use strict';
/** A plugin of Babel that keeps the syntax tree before anything is made of it: for versions of Playwright that only transform. */
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
