import { maxLifecycleWaitMs } from '../lifecycle/lifecycle-process.ts';
import type { Runtime } from '../runtimes/runtimes.ts';
import { maxWaitMs } from '../scripts/script-process.ts';

const unusedMs = 10 * 60_000;
/** One per kind in use, more where runs come at once; `roomBytes` is the free memory required to start one. */
export const warmScripts = {
  countPerKind: 3,
  burstMs: 2000,
  unusedMs,
  patienceMs: 3000,
  maxAgeMs: maxWaitMs / 2,
  roomBytes: 1024 ** 3,
};
/** The same for setup and teardown scripts. */
export const warmLifecycles = {
  maxCount: 3,
  countPerKind: 2,
  burstMs: 60_000,
  unusedMs,
  patienceMs: 200,
  maxAgeMs: maxLifecycleWaitMs / 2,
  roomBytes: 256 * 1024 ** 2,
};

/** Warm processes of scripts with and without a browser are apart: without one, a script must not find any. */
export interface ScriptKind {
  readonly id: string;
  readonly runtime: Runtime;
  readonly hasBrowser: boolean;
}

export function scriptKind(runtime: Runtime, hasBrowser: boolean): ScriptKind {
  return { id: `${runtime.id}${hasBrowser ? ' with a browser' : ''}`, runtime, hasBrowser };
}
