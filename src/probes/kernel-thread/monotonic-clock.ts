const samples = 20;
const recheckIntervalMs = 60_000;

/** Milliseconds of the kernel's monotonic clock, the same in all threads. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

/**
 * Converts times of the monotonic clock to this thread's `performance.now()`, which counts from the start of the
 * thread. Both use the same clock, so the offset is constant; it is still measured again now and then, because
 * everything depends on it.
 */
export class MonotonicOffset {
  #offsetMs = 0;
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  toPerformanceMs(atMs: number): number {
    return atMs - this.#offsetMs;
  }

  /** Measures the offset if the last measurement is too old. */
  check(): void {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < recheckIntervalMs) return;
    this.#checkedAtMs = nowMs;
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let sample = 0; sample < samples; sample += 1) {
      const beforeMs = performance.now();
      const atMs = monotonicMs();
      const afterMs = performance.now();
      // The shorter the interval between the two readings, the smaller the error of the one in between.
      if (afterMs - beforeMs >= shortestMs) continue;
      shortestMs = afterMs - beforeMs;
      this.#offsetMs = atMs - (beforeMs + afterMs) / 2;
    }
  }
}
