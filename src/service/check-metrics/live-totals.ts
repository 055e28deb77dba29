import { setImmediate } from 'node:timers/promises';
import type { Store } from '@picket/platform/store/store.ts';
import { addRunTo, keyOf } from './folding.ts';
import { ShardCursors, shardCount } from './shards.ts';
import { type LocationTotals, type Position, startAfter } from './store.ts';

/** Each page costs PostgreSQL a sort of the remaining rows while it has few statistics on the table. */
const rowsPerRead = 2_000;
/** After this time, reading the stored totals is cheaper than reading the runs since. */
const reloadAfterMs = 15 * 60_000;
const loadTries = 5;
/** Clocks of processes differ by less, so that runs counted by another process are counted here, too. */
const aheadMs = 60_000;

/**
 * Totals of all checks up to now, in the memory of a process that serves them: the stored totals plus the runs since.
 * Every process arrives at the same numbers, because they follow from the database alone.
 *
 * Runs of the last minute may become visible out of order, so their ids are remembered until no earlier run can appear.
 */
export class LiveTotals {
  readonly #store: Store;
  #totals = new Map<string, LocationTotals>();
  /** All runs up to this instant are in the totals; later ones that are included, too, are in `#seen`. */
  #settledMs = 0;
  #seen = new Map<string, number>();
  #stored: ShardCursors | undefined;
  #refreshedMs = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** By check, in no particular order. */
  byCheck(): ReadonlyMap<string, readonly LocationTotals[]> {
    return Map.groupBy(this.#totals.values(), ({ checkId }) => checkId);
  }

  /** Adds runs that have ended since. The very first call for these metrics starts the counting. */
  async refresh(now: number): Promise<void> {
    const { checkTotals } = this.#store;
    if (!this.#stored || now - this.#refreshedMs > reloadAfterMs) await this.#load(now);
    // Queried first: runs that become visible while the runs are read are later than this.
    const settledMs = await checkTotals.settledUntil(now);
    for (let after = startAfter(this.#settledMs); ; ) {
      const positions = await checkTotals.endedAfter(after, now + aheadMs, rowsPerRead);
      const unseen = positions.filter(({ runId }) => !this.#seen.has(runId));
      if (unseen.length > 0) await this.#add(unseen);
      const last = positions.at(-1);
      if (!last || positions.length < rowsPerRead) break;
      after = last;
      await setImmediate();
    }
    if (settledMs > this.#settledMs) {
      for (const [runId, ended] of this.#seen) if (ended <= settledMs) this.#seen.delete(runId);
      this.#settledMs = settledMs;
    }
    this.#refreshedMs = now;
  }

  async #add(unseen: readonly Position[]): Promise<void> {
    const runs = await this.#store.checkTotals.endedRuns(unseen.map(({ runId }) => runId));
    for (const run of runs) {
      this.#seen.set(run.id, run.ended);
      if (!this.#stored?.include(run)) addRunTo(this.#totals, run);
    }
  }

  /** Loads the stored totals; retries if a process writes meanwhile. */
  async #load(now: number): Promise<void> {
    const { checkTotals } = this.#store;
    for (let tries = 1; ; tries += 1) {
      const before = new ShardCursors(await checkTotals.cursors());
      if (!before.haveBegun) {
        await checkTotals.begin(shardCount, now);
        continue;
      }
      const totals = new Map<string, LocationTotals>();
      for (let after = { checkId: '', location: '' }; ; ) {
        const read = await checkTotals.totalsAfter(after, rowsPerRead);
        for (const one of read) totals.set(keyOf(one), one);
        const last = read.at(-1);
        if (!last || read.length < rowsPerRead) break;
        after = last;
        await setImmediate();
      }
      const isSame = before.equals(new ShardCursors(await checkTotals.cursors()));
      if (isSame) {
        this.#totals = totals;
        this.#stored = before;
        this.#settledMs = before.earliest;
        this.#seen = new Map();
        return;
      }
      if (tries === loadTries) throw new Error('the totals of checks change faster than they can be read');
    }
  }
}
