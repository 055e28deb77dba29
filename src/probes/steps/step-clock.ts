import type { StepOutcome } from './steps.ts';

/**
 * Runs the steps of a conversation one after the other, and measures the peer's time for each: from the last byte sent
 * or received to the one that the step waited for.
 */
export class StepClock {
  readonly outcomes: StepOutcome[] = [];
  /** Time of the peer alone, while steps were waiting. */
  waitedMs = 0;
  #stepStartMs = 0;
  #sinceMs: number;
  #wake: (() => void) | undefined;

  /** @param readyMs when the conversation could begin. */
  constructor(readyMs: number) {
    this.#sinceMs = readyMs;
  }

  /** @returns why a step failed; the steps after it are not run. */
  async each<Step, Failed>(
    steps: readonly Step[],
    take: (step: Step, index: number) => Promise<Failed | undefined>,
  ): Promise<Failed | undefined> {
    for (const [index, step] of steps.entries()) {
      this.#stepStartMs = this.waitedMs;
      const failed = await take(step, index);
      this.#end(failed === undefined);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** The run is stopped in the middle of a step. */
  interrupt(): void {
    this.arrived(performance.now());
    this.#end(false);
  }

  /** Bytes left, or a handshake ended: the peer's time counts from then. */
  goesOnAt(timeMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, timeMs);
  }

  /** The data that a step waited for arrived. */
  arrived(timeMs: number): void {
    this.waitedMs += Math.max(0, timeMs - this.#sinceMs);
    this.goesOnAt(timeMs);
  }

  /** Waits until `wake` is called; data that arrived before the timeout is read first. */
  async wait(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(() => setImmediate(resolve), Math.max(0, timeoutMs));
    await promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }

  wake(): void {
    this.#wake?.();
  }

  #end(isDone: boolean): void {
    this.outcomes.push({ isDone, waitMs: this.waitedMs - this.#stepStartMs });
  }
}
