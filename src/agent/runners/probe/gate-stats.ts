/**
 * State of a probe thread's admission gate and event loop, published to the main thread in shared memory: a message for
 * each change would cost more than the change, and a hanging thread sends none.
 */
export class GateStats {
  readonly memory: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#values = new Float64Array(memory);
  }

  /** @param oldestSinceMs when the oldest started to wait, on the monotonic clock that all threads share. */
  show(waitingCount: number, oldestSinceMs: number): void {
    this.#values[0] = waitingCount;
    this.#values[1] = oldestSinceMs;
  }

  /** Records that the event loop has turned. */
  turned(nowMs: number): void {
    this.#values[2] = nowMs;
  }

  /** When the event loop last turned; undefined if it has not reported yet. */
  get turnedAtMs(): number | undefined {
    return this.#values[2] || undefined;
  }

  get waitingCount(): number {
    return this.#values[0] ?? 0;
  }

  /** How long the oldest run has waited; 0 if none is waiting. */
  oldestWaitMs(nowMs: number): number {
    return this.waitingCount === 0 ? 0 : Math.max(0, nowMs - (this.#values[1] ?? nowMs));
  }
}
