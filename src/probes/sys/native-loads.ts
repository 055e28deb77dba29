import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/**
 * A thread must not be terminated while it loads native code: the module cannot propagate the termination exception and
 * aborts the whole process (SIGABRT instead of the exit code). So code that terminates threads waits for loads in
 * progress, and no thread begins one meanwhile.
 */
const key = 'picket.native-loads';

/** Set in the shared number while threads are being terminated; the lower bits count loads in progress. */
const holdUnit = 1 << 16;
/** A longer load hangs; the process must still end. */
const maxWaitMs = 5000;

/**
 * Returns the counter that this thread shares with the threads it starts. Call it before starting a thread that may
 * load native code.
 */
export function shareNativeLoads(): Int32Array {
  const known = getEnvironmentData(key) as SharedArrayBuffer | undefined;
  const memory = known ?? new SharedArrayBuffer(4);
  if (!known) setEnvironmentData(key, memory);
  return new Int32Array(memory);
}

/** Loads native code. Waits while threads are being terminated. */
export async function nativeLoad<T>(load: () => T | Promise<T>): Promise<T> {
  const state = shareNativeLoads();
  for (;;) {
    const before = Atomics.add(state, 0, 1);
    if (before < holdUnit) break;
    leave(state, 1);
    await change(state, Atomics.load(state, 0), maxWaitMs);
  }
  try {
    return await load();
  } finally {
    leave(state, 1);
  }
}

/** Terminates threads while none of them loads native code. */
export async function endWithoutNativeLoads<T>(end: () => Promise<T>): Promise<T> {
  const state = shareNativeLoads();
  Atomics.add(state, 0, holdUnit);
  try {
    const giveUpAtMs = performance.now() + maxWaitMs;
    for (;;) {
      const now = Atomics.load(state, 0);
      const leftMs = giveUpAtMs - performance.now();
      if (now % holdUnit === 0 || leftMs <= 0) break;
      await change(state, now, leftMs);
    }
    return await end();
  } finally {
    leave(state, holdUnit);
  }
}

function leave(state: Int32Array, amount: number): void {
  Atomics.sub(state, 0, amount);
  Atomics.notify(state, 0);
}

async function change(state: Int32Array, known: number, timeoutMs: number): Promise<void> {
  const { async: isWaiting, value } = Atomics.waitAsync(state, 0, known, timeoutMs);
  if (!isWaiting) return;
  // Atomics.waitAsync does not keep the process alive: without a timer it would exit with code 13.
  const alive = setTimeout(() => undefined, timeoutMs);
  await value;
  clearTimeout(alive);
}
