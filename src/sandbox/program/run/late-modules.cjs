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
    return lateExports(() => {
      loaded ??= load.call(Module, request, ...rest);
      return loaded;
    });
  };
}

/**
 * Returns an object that stands for the exports of a module, and loads it with the first look at one of them.
 *
 * @param load returns the exports; it is called again and again.
 * @param names of the exports, if they are known: to list or copy them does not load the module yet.
 */
function lateExports(load, names) {
  let isLoaded = names === undefined;
  const exported = () => {
    isLoaded = true;
    return load();
  };
  return new Proxy(
    {},
    {
      get: (_, name) => (!isLoaded && name === '__esModule' ? names.includes(name) : exported()[name]),
      set: (_, name, value) => Reflect.set(exported(), name, value),
      has: (_, name) => (isLoaded ? name in exported() : names.includes(name)),
      ownKeys: () => (isLoaded ? Reflect.ownKeys(exported()) : names),
      getOwnPropertyDescriptor: (_, name) => {
        if (!isLoaded)
          return names.includes(name)
            ? { get: () => exported()[name], enumerable: name !== '__esModule', configurable: true }
            : undefined;
        const found = Object.getOwnPropertyDescriptor(exported(), name);
        return found && { ...found, configurable: true };
      },
    },
  );
}

module.exports = { loadLate, lateExports };
