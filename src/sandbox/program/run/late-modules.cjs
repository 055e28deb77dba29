'use strict';
/**
 * Modules that Playwright loads at once and a process hardly ever uses are loaded with the first look at one of their
 * exports. Code that takes exports out while it loads gets them, too, only no later.
 */
const Module = require('node:module');

/** @param pattern of the names under which other modules require them. */
function loadLate(pattern) {
  const { _load: load } = Module;
  Module._load = function loadWhenUsed(request, ...rest) {
    if (typeof request !== 'string' || !pattern.test(request)) return load.call(this, request, ...rest);
    let loaded;
    const exported = () => {
      loaded ??= load.call(Module, request, ...rest);
      return loaded;
    };
    return new Proxy(
      {},
      {
        get: (_, name) => exported()[name],
        has: (_, name) => name in exported(),
        ownKeys: () => Reflect.ownKeys(exported()),
        getOwnPropertyDescriptor: (_, name) => {
          const found = Object.getOwnPropertyDescriptor(exported(), name);
          return found && { ...found, configurable: true };
        },
      },
    );
  };
}

module.exports = { loadLate };
