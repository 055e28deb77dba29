import type { StepOutcome } from './steps.ts';

/**
 * Takes the steps of a conversation one after the other, and counts for each what the other side took: from the last byte that left
 * or arrived to the one that the step waited for.
 */
export class StepClock {
  readonly outcomes: StepOutcome[] = [];
  /** Of the other side alone, while steps were waiting. */
  waitedMs = 0;
  #stepStartMs = 0;
  #sinceMs: number;
  #wake: (() => void) | undefined;

  /** @param readyMs when the conversation could begin. */
  constructor(readyMs: number) {
    this.#sinceMs = readyMs;
  }

  /** @returns why a step failed: those behind it are not begun. */
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

  /** Bytes left, or a handshake ended: what the other side takes counts from then. */
  goesOnAt(timeMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, timeMs);
  }

  /** What a step waited for arrived. */
  arrived(timeMs: number): void {
    this.waitedMs += Math.max(0, timeMs - this.#sinceMs);
    this.goesOnAt(timeMs);
  }

  /** Waits until `wake` is called; what has come by the end of the time is read first. */
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
