/**
 * What the admission gate of a probe thread shows the main thread: memory that both share, because a message
 * for each change would cost more than the change.
 */
export class GateStats {
  readonly memory: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#values = new Float64Array(memory);
  }

  /**
   * @param oldestSinceMs since when the first of them waits, on the monotonic clock that all threads share.
   */
  show(waitingCount: number, oldestSinceMs: number): void {
    this.#values[0] = waitingCount;
    this.#values[1] = oldestSinceMs;
  }

  get waitingCount(): number {
    return this.#values[0] ?? 0;
  }

  /** How long the first of the waiting runs has waited; 0 when none waits. */
  oldestWaitMs(nowMs: number): number {
    return this.waitingCount === 0 ? 0 : Math.max(0, nowMs - (this.#values[1] ?? nowMs));
  }
}
