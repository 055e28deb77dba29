'use strict';
/**
 * Loading leaves garbage worth a third of a warm process, which nothing collects while it waits. A process that has
 * waited for a while releases that memory. On a busy agent, processes do not wait, so collections would only cost time.
 */
const waitMs = 5_000;

/** Call when everything is loaded. Returns a function to call when a job arrives. */
function giveBackWhileWaiting() {
  const timer = setTimeout(collectGarbage, waitMs).unref();
  return () => clearTimeout(timer);
}

/**
 * Collects garbage as V8 does when memory is exhausted, including the heap's reserves. Uses the inspector: with
 * `--expose-gc` V8 discards Node's code cache, and a script would see `gc`.
 */
function collectGarbage() {
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connect();
  // The inspector holds a lock during the callback.
  session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
}

module.exports = { giveBackWhileWaiting };
