'use strict';
/**
 * A Babel plugin that captures the syntax tree before it is transformed, for versions of Playwright without a parser.
 */
let kept;

module.exports = () => ({
  pre(file) {
    // A copy: later plugins modify the tree.
    kept = JSON.parse(JSON.stringify(file.ast));
  },
});

module.exports.take = () => {
  const tree = kept;
  kept = undefined;
  return tree;
};
