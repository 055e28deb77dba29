'use strict';
/**
 * Loading leaves a third of a warm process behind as garbage, which nothing collects while it waits. One that has
 * waited for a while gives that memory back. A busy agent, whose processes do not wait, has no time for it.
 */
const waitMs = 5_000;

/** To be called when everything is loaded. Returns what ends the waiting: to be called when there is a job. */
function giveBackWhileWaiting() {
  const timer = setTimeout(collectGarbage, waitMs).unref();
  return () => clearTimeout(timer);
}

/**
 * Collects as V8 does when there is no memory left: all garbage, and what the heap keeps for later. The inspector is
 * asked for it: with `--expose-gc` V8 drops what Node brings along compiled, and a script would find `gc`.
 */
function collectGarbage() {
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connect();
  // The inspector holds a lock while it answers.
  session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
}

module.exports = { giveBackWhileWaiting };
