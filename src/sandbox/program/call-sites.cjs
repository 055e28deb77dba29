'use strict';
/**
 * What `fetch` and the bodies it gives fail with has a stack of Node's own frames, or none: nothing leads from the network back to
 * the script. Here the frames of the call are added, so that the line that waits is known.
 */

const bodyMethods = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'];

function keepCallSites() {
  keepCallSite(globalThis, 'fetch');
  for (const name of bodyMethods) keepCallSite(globalThis.Response?.prototype, name);
}

function keepCallSite(owner, name) {
  const original = owner?.[name];
  if (typeof original !== 'function') return;
  // The name and the number of parameters stay what scripts may look at.
  const { [name]: calling } = {
    [name](...args) {
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
