'use strict';
/**
 * Loading leaves garbage worth a quarter of a warm process, which nothing collects while it waits. A process that has
 * waited for a while releases that memory. It takes 150 ms of processor time, as a tenth of a run: where checks run every minute,
 * no process waits that long.
 */
const waitMs = 90_000;

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
