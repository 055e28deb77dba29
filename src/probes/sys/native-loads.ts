import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/**
 * A thread must not be ended while it loads native code: the module cannot pass on the exception that ends the
 * thread, and aborts the whole process (SIGABRT instead of the exit code). So the code that ends threads waits for
 * loads under way, and no thread begins one meanwhile.
 */
const key = 'picket.native-loads';

/** Set in the shared number while threads are being ended; the bits below count loads under way. */
const holdUnit = 1 << 16;
/** A load that takes longer hangs; the process still has to end. */
const maxWaitMs = 5000;

/**
 * The number that this thread shares with the threads it starts. To be called before a thread starts that may
 * load native code.
 */
export function shareNativeLoads(): Int32Array {
  const known = getEnvironmentData(key) as SharedArrayBuffer | undefined;
  const memory = known ?? new SharedArrayBuffer(4);
  if (!known) setEnvironmentData(key, memory);
  return new Int32Array(memory);
}

/** Loads native code. Waits while threads are being ended. */
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

/** Ends threads while none of them loads native code. */
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
  // The wait itself keeps no process alive: it would end in the middle, with exit code 13.
  const alive = setTimeout(() => undefined, timeoutMs);
  await value;
  clearTimeout(alive);
}
