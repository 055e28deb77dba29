const samples = 20;
const recheckIntervalMs = 60_000;

/** Milliseconds of the kernel's monotonic clock, the same in all threads. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

/**
 * Turns times of the monotonic clock into those of this thread's `performance.now()`, which counts from the
 * start of the thread. Both run on the same clock, so the difference stays as it is; it is measured again now
 * and then anyway, because everything depends on it.
 */
export class MonotonicOffset {
  #offsetMs = 0;
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  toPerformanceMs(atMs: number): number {
    return atMs - this.#offsetMs;
  }

  /** Measures the difference if that was long ago. */
  check(): void {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < recheckIntervalMs) return;
    this.#checkedAtMs = nowMs;
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let sample = 0; sample < samples; sample += 1) {
      const beforeMs = performance.now();
      const atMs = monotonicMs();
      const afterMs = performance.now();
      // The less time passes between the two, the less the one in between can be off.
      if (afterMs - beforeMs >= shortestMs) continue;
      shortestMs = afterMs - beforeMs;
      this.#offsetMs = atMs - (beforeMs + afterMs) / 2;
    }
  }
}
