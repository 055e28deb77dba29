/**
 * What a probe thread shows the main thread of its admission gate and its event loop: memory that both share,
 * because a message for each change would cost more than the change, and a thread that hangs sends none.
 */
export class GateStats {
  readonly memory: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT)) {
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

  /** The event loop has turned. */
  turned(nowMs: number): void {
    this.#values[2] = nowMs;
  }

  /** When the event loop last said that it turns; undefined where it never did. */
  get turnedAtMs(): number | undefined {
    return this.#values[2] || undefined;
  }

  get waitingCount(): number {
    return this.#values[0] ?? 0;
  }

  /** How long the first of the waiting runs has waited; 0 when none waits. */
  oldestWaitMs(nowMs: number): number {
    return this.waitingCount === 0 ? 0 : Math.max(0, nowMs - (this.#values[1] ?? nowMs));
  }
}
