import { CpuLimitExceeded, withinCpuLimit } from './cpu-limit.ts';

/** An evaluation that a user wrote takes more work than it may. */
export class WorkExceeded extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkExceeded';
  }
}

/**
 * What all evaluations of one run may take together. Work is counted in steps, each some 20 ns: the same
 * document and definition get the same verdict on every host, busy or not. Only what cannot be counted,
 * regular expressions, is limited by its processor time.
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

  /** Counts work on a text, which native code does at some gigabytes a second. @throws WorkExceeded */
  spendText(length: number): void {
    this.spend(1 + length / 32);
  }

  /**
   * Does work that cannot be counted, in what is left of the processor time.
   *
   * @throws CpuLimitExceeded, ThreadStarved, and what the work throws.
   */
  timed<Result>(work: () => Result): Result {
    const before = process.threadCpuUsage();
    try {
      return withinCpuLimit(Math.max(1, this.#maxCpuMs - this.#cpuMs), work);
    } catch (thrown) {
      // Clocks are coarse: what had all that was left has left nothing.
      if (thrown instanceof CpuLimitExceeded) this.#cpuMs = this.#maxCpuMs;
      throw thrown;
    } finally {
      const { user, system } = process.threadCpuUsage(before);
      this.#cpuMs += (user + system) / 1000;
    }
  }
}
