import type { Clock } from '@picket/lib/clock.ts';
import type { Removal } from '@picket/platform/store/engine/removal.ts';

const fewestRows = 100;
const mostRows = 50_000;

/**
 * Deletes rows of one kind in portions that take about as long as one statement may, adapting the number of rows to the
 * current disk and load. It pauses after each portion, so that other statements run in between.
 */
export class RemovalPace {
  readonly #clock: Clock;
  readonly #removal: Removal;
  #rows: number;

  constructor(clock: Clock, removal: Removal, firstRows: number) {
    this.#clock = clock;
    this.#removal = removal;
    this.#rows = firstRows;
  }

  /** Maximum number of rows that the next statement deletes. */
  get rows(): number {
    return this.#rows;
  }

  /**
   * Deletes portions until one is not full, or until an instant of the monotonic clock.
   *
   * @param remove deletes up to `limit` rows and returns the number deleted.
   * @returns whether there may be more.
   */
  async run(remove: (limit: number) => Promise<number>, untilMs: number): Promise<boolean> {
    for (;;) {
      const limit = this.#rows;
      const startMs = this.#clock.monotonicMs();
      const removed = await remove(limit);
      const endMs = this.#clock.monotonicMs();
      const tookMs = endMs - startMs;
      this.#adapt(tookMs, removed === limit);
      if (removed < limit) return false;
      if (endMs >= untilMs) return true;
      await this.#clock.sleep(Math.max(1, tookMs * this.#removal.restShare));
    }
  }

  #adapt(tookMs: number, isFull: boolean): void {
    const fitting = this.#removal.statementMs / Math.max(tookMs, 1);
    // A portion that was not full only shows that up to this number of rows is acceptable.
    const factor = Math.max(0.5, isFull ? Math.min(2, fitting) : Math.min(1, fitting));
    this.#rows = Math.min(mostRows, Math.max(fewestRows, Math.round(this.#rows * factor)));
  }
}
