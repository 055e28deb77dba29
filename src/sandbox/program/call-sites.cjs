'use strict';
/**
 * Errors of `fetch` and of response bodies have stacks that contain only Node's own frames or are empty: nothing leads
 * from the network back to the script. This module adds the frames of the call, so that the waiting line is known.
 *
 * Node loads its client for HTTP, a tenth of the CPU time of the shortest runs, with the first look at `Response`: here,
 * at the first `fetch`.
 */

const bodyMethods = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'];

function keepCallSites() {
  let isLoaded = false;
  keepCallSite(globalThis, 'fetch', () => {
    if (isLoaded) return;
    isLoaded = true;
    for (const name of bodyMethods) keepCallSite(globalThis.Response?.prototype, name);
  });
}

/** @param onCall called before each call. */
function keepCallSite(owner, name, onCall) {
  const original = owner?.[name];
  if (typeof original !== 'function') return;
  // Preserves the name and the parameter count, which scripts may inspect.
  const { [name]: calling } = {
    [name](...args) {
      onCall?.();
      const call = {};
      Error.captureStackTrace(call, calling);
      return original.apply(this, args).catch((error) => {
        addFrames(error, call);
        throw error;
      });
    },
  };
  Object.defineProperty(calling, 'length', { value: original.length, configurable: true });
  Object.defineProperty(owner, name, { ...Object.getOwnPropertyDescriptor(owner, name), value: calling });
}

function addFrames(error, call) {
  if (typeof error?.stack !== 'string' || typeof call.stack !== 'string') return;
  const frames = call.stack.split('\n').filter((line) => /^\s+at /.test(line));
  const missing = frames.filter((frame) => !error.stack.includes(frame));
  if (missing.length > 0) error.stack = [error.stack, ...missing].join('\n');
}

module.exports = { keepCallSites };
