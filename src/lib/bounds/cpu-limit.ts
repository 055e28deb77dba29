import { type Context, createContext, Script } from 'node:vm';
import type { Worker } from 'node:worker_threads';
import { errorCodeOf } from '../errors.ts';

/** User-defined work exceeded its limit of processor time. */
export class CpuLimitExceeded extends Error {
  constructor(limitMs: number) {
    super(`took longer than ${Math.round(limitMs)} ms of processor time`);
    this.name = 'CpuLimitExceeded';
  }
}

/** This thread got no processor time, so the work has no verdict. */
export class ThreadStarved extends Error {
  constructor() {
    super('the agent got too little processor time to evaluate the response');
    this.name = 'ThreadStarved';
  }
}

/** Each attempt doubles the wall-clock limit: a thread that gets an eighth of a core has enough. */
const maxGoes = 4;
/** Minimum limit per attempt after the first: a busy host's scheduler lets a thread wait almost as long. */
const turnMs = 40;
/** Thread clocks tick coarsely on some hosts. */
const toleranceFactor = 0.8;

let script: Script | undefined;
let context: Context | undefined;

/**
 * Runs work that may never end, such as matching a regular expression that backtracks, and stops it after `limitMs` of
 * this thread's processor time. The wall clock stops it, and it runs again if the thread had no processor meanwhile: a
 * verdict must not depend on the load of the host. `vm` serves as a stop-watch here, not as a sandbox.
 *
 * @param work must not leave outside state half changed: its `finally` blocks do not run.
 * @throws CpuLimitExceeded, ThreadStarved, and any error of the work.
 */
export function withinCpuLimit<Result>(limitMs: number, work: () => Result): Result {
  script ??= new Script('work()');
  context ??= createContext({});
  let done: { readonly result: Result } | undefined;
  for (let go = 0; go < maxGoes; go++) {
    const before = process.threadCpuUsage();
    // A constant first: written as the value of the assignment, V8 would keep it and the work's data for long.
    const timed = () => {
      done = { result: work() };
    };
    context.work = timed;
    try {
      script.runInContext(context, { timeout: Math.ceil(Math.max(limitMs, go * turnMs) * 2 ** go) });
      if (done) return done.result;
    } catch (thrown) {
      if (errorCodeOf(thrown) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
    } finally {
      context.work = undefined;
    }
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1000 >= limitMs * toleranceFactor) throw new CpuLimitExceeded(limitMs);
  }
  throw new ThreadStarved();
}

/** Returns the processor time of a thread in milliseconds, or undefined once it has ended. */
export async function cpuMsOf(worker: Worker): Promise<number | undefined> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ERR_WORKER_NOT_RUNNING') return undefined;
    throw thrown;
  }
}
