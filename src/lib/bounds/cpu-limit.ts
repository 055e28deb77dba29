import { type Context, createContext, Script } from 'node:vm';
import type { Worker } from 'node:worker_threads';
import { errorCodeOf } from '../errors.ts';

/** Work of a user's making took more processor time than it may. */
export class CpuLimitExceeded extends Error {
  constructor(limitMs: number) {
    super(`took longer than ${Math.round(limitMs)} ms of processor time`);
    this.name = 'CpuLimitExceeded';
  }
}

/** This thread got no processor time: nothing can be said about the work. */
export class ThreadStarved extends Error {
  constructor() {
    super('the agent got too little processor time to evaluate the response');
    this.name = 'ThreadStarved';
  }
}

/** With each go the wall clock is given twice as long: a thread that gets an eighth of a core has enough. */
const maxGoes = 4;
/** Longer than a busy host's scheduler lets a thread wait for its turn: for limits that are shorter than that. */
const turnMs = 40;
/** Clocks of threads tick coarsely on some hosts. */
const toleranceFactor = 0.8;

let script: Script | undefined;
let context: Context | undefined;

/**
 * Does work that may never end, such as matching a regular expression that backtracks, and stops it after
 * `limitMs` of this thread's processor time, whatever it is doing. It is stopped by the wall clock and done
 * again where the thread had no processor meanwhile: a verdict must not depend on how busy the host is. `vm`
 * serves as a stop-watch here, not as a sandbox.
 *
 * @param work changes nothing outside of itself that may stay half done: its `finally` blocks do not run.
 * @throws CpuLimitExceeded, ThreadStarved, and what the work throws.
 */
export function withinCpuLimit<Result>(limitMs: number, work: () => Result): Result {
  script ??= new Script('work()');
  context ??= createContext({});
  let done: { readonly result: Result } | undefined;
  for (let go = 0; go < maxGoes; go++) {
    const before = process.threadCpuUsage();
    context.work = () => {
      done = { result: work() };
    };
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

/** The processor time of a thread, in milliseconds; undefined once it has ended. */
export async function cpuMsOf(worker: Worker): Promise<number | undefined> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ERR_WORKER_NOT_RUNNING') return undefined;
    throw thrown;
  }
}
