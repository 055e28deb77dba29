import { CpuLimitExceeded, withinCpuLimit } from './cpu-limit.ts';

/** A user-defined evaluation takes more work than its limit. */
export class WorkExceeded extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkExceeded';
  }
}

/**
 * Limit shared by all evaluations of one run. Work is counted in steps of some 20 ns each: the same document and
 * definition get the same verdict on every host, busy or not. Only regular expressions, whose steps cannot be counted,
 * are limited by processor time.
 */
export class WorkBudget {
  readonly #maxSteps: number;
  readonly #maxCpuMs: number;
  #stepCount = 0;
  #cpuMs = 0;

  constructor(limits: { readonly steps: number; readonly cpuMs: number }) {
    this.#maxSteps = limits.steps;
    this.#maxCpuMs = limits.cpuMs;
  }

  /** @throws WorkExceeded */
  spend(steps: number): void {
    this.#stepCount += steps;
    if (this.#stepCount > this.#maxSteps) {
      throw new WorkExceeded(`it exceeds the limit of ${this.#maxSteps} steps for the assertions of a run`);
    }
  }

  /** Counts work on a text, which native code processes at some gigabytes a second. @throws WorkExceeded */
  spendText(length: number): void {
    this.spend(1 + length / 32);
  }

  /**
   * Runs work that cannot be counted, within the remaining processor time.
   *
   * @throws CpuLimitExceeded, ThreadStarved, and any error of the work.
   */
  timed<Result>(work: () => Result): Result {
    const before = process.threadCpuUsage();
    try {
      return withinCpuLimit(Math.max(1, this.#maxCpuMs - this.#cpuMs), work);
    } catch (thrown) {
      // Clocks are coarse: work that ran into the limit has used up all remaining time.
      if (thrown instanceof CpuLimitExceeded) this.#cpuMs = this.#maxCpuMs;
      throw thrown;
    } finally {
      const { user, system } = process.threadCpuUsage(before);
      this.#cpuMs += (user + system) / 1000;
    }
  }
}
