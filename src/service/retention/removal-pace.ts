import type { Clock } from '@picket/lib/clock.ts';
import type { Removal } from '@picket/platform/store/engine/removal.ts';

const fewestRows = 100;
const mostRows = 50_000;

/**
 * Removes rows of one kind in portions that take about as long as one statement may: as many rows as that
 * allows today, on this disk and next to that load. After each it pauses, so that others come in between.
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

  /** How many rows the next statement removes at most. */
  get rows(): number {
    return this.#rows;
  }

  /**
   * Removes portions until one is not full, or until an instant of the monotonic clock.
   *
   * @param remove removes up to `limit` rows and returns how many there were.
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
    // A portion that was not full says only that up to that many are not too many.
    const factor = Math.max(0.5, isFull ? Math.min(2, fitting) : Math.min(1, fitting));
    this.#rows = Math.min(mostRows, Math.max(fewestRows, Math.round(this.#rows * factor)));
  }
}
