'use strict';
/**
 * Loading leaves a third of a warm process behind as garbage, which nothing collects while it waits. One that has
 * waited for a while gives that memory back. A busy agent, whose processes do not wait, has no time for it.
 */
const waitMs = 5_000;

// There with --expose-gc. Neither a script nor the processes that it starts are to find it.
const { gc } = globalThis;
globalThis.gc = undefined;
process.execArgv = process.execArgv.filter((option) => option !== '--expose-gc');

/** To be called when everything is loaded. Returns what ends the waiting: to be called when there is a job. */
function giveBackWhileWaiting() {
  // As V8 does when there is no memory left: all garbage, and what the heap keeps for later.
  const timer = setTimeout(() => gc?.({ type: 'major', flavor: 'last-resort' }), waitMs).unref();
  return () => clearTimeout(timer);
}

module.exports = { giveBackWhileWaiting };
