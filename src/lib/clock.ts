import { setTimeout as delay } from 'node:timers/promises';

/** Source of time. Durations use `monotonicMs`, dates use `wallMs`; no other code reads a clock. */
export interface Clock {
  /** Milliseconds since the epoch. May jump when the host's clock is set. */
  wallMs(): number;
  /** Milliseconds since some fixed instant of this process, the same in all its threads. Never jumps. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Throws nothing: the caller checks the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls back when the clock was set to another time, if that is detected: sleeps until a date end then.
   *
   * @returns a function that removes the listener.
   */
  onSet?(listener: () => void): () => void;
}

/** Listeners to notify when a clock is set. */
export class ClockListeners {
  readonly #listeners = new Set<() => void>();

  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  call(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  // Not performance.now(): its zero is the start of each thread, so threads could not compare their readings.
  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
  async sleep(ms, signal) {
    if (signal?.aborted) return;
    try {
      await delay(ms, undefined, signal ? { signal } : undefined);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  },
};

/** Waits for a promise, but no longer than `ms`. Throws its rejection. */
export async function waitAtMost(
  clock: Pick<Clock, 'sleep'>,
  awaited: Promise<unknown>,
  ms: number,
): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([awaited, clock.sleep(ms, over.signal)]);
  } finally {
    over.abort();
  }
}

/**
 * Full-jitter exponential back-off: a random delay between 0 and min(cap, base * 2^attempt) milliseconds. Jitter over
 * the whole range keeps clients that failed together from retrying together.
 *
 * @param attempt 0 for the first retry.
 */
export function backoffDelayMs(
  attempt: number,
  options: { readonly baseMs: number; readonly capMs: number; readonly random?: () => number },
): number {
  const { baseMs, capMs, random = Math.random } = options;
  const ceilingMs = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
  return Math.floor(random() * ceilingMs);
}
