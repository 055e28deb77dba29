import { setFlagsFromString } from 'node:v8';

/** Calls after which V8 compiles a function with its best compiler; its own number is 3,000. */
const callsUntilOptimized = 600;

/** By then all threads have loaded: V8 takes code that was compiled in advance only with the options of that time. */
const loadedMs = 10_000;

/**
 * Makes V8 compile with its best compiler sooner, in all threads of this process, once it has run for a while. Its own
 * patience is for pages that are left soon: a process that runs a hundred checks a second would spend its first ten
 * minutes in code that takes half as much time again.
 */
export function optimizeSooner(afterMs = loadedMs): void {
  const optimize = () => setFlagsFromString(`--invocation-count-for-turbofan=${callsUntilOptimized}`);
  setTimeout(optimize, afterMs).unref();
}
