/** Starts tasks in order of arrival, and limits how many run at the same time. */
export class LaneQueue {
  readonly #size: number;
  readonly #waiting: (() => Promise<void>)[] = [];
  #runningCount = 0;

  /** @param size how many tasks may run at the same time. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Starts a task now, or as soon as those before it have started and there is room. */
  add(task: () => Promise<void>): void {
    if (this.#runningCount < this.#size) void this.#run(task);
    else this.#waiting.push(task);
  }

  async #run(task: () => Promise<void>): Promise<void> {
    this.#runningCount += 1;
    try {
      await task();
    } finally {
      this.#runningCount -= 1;
      const next = this.#waiting.shift();
      if (next) void this.#run(next);
    }
  }
}
