import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@picket/lib/clock.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { ShardCursors, shardCount, shardOf } from './shards.ts';
import { type LocationTotals, startAfter } from './store.ts';
import { addRun, type EndedRun, mergeTotals, noTotals } from './totals.ts';

export interface FoldingOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Period of runs that is folded at once, minimum and maximum. */
  readonly foldEveryMs?: number;
  readonly runsPerRead?: number;
}

/** Checks that run once a minute are written once per five runs. */
const defaultFoldEveryMs = 5 * 60_000;
const defaultRunsPerRead = 500;

/**
 * Adds finished runs to the totals of their checks, several minutes at a time: transactions that store results are not
 * involved. It starts with the first request for these metrics.
 *
 * Each run is added once. Runs are read in the order in which they ended, up to an instant before which no more can
 * appear (`settledUntil`). They are added up in memory and written shard by shard: the totals of a shard and the cursor
 * that says which runs they include are written in one transaction, which does nothing if the cursor has moved since it
 * was read. So neither a kill in between nor a second process counts a run twice or skips it.
 */
export class Folding {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #foldEveryMs: number;
  readonly #runsPerRead: number;

  constructor({ store, clock, foldEveryMs, runsPerRead }: FoldingOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#foldEveryMs = foldEveryMs ?? defaultFoldEveryMs;
    this.#runsPerRead = runsPerRead ?? defaultRunsPerRead;
  }

  async turn(): Promise<number | null> {
    const now = this.#clock.wallMs();
    const cursors = new ShardCursors(await this.#store.checkTotals.cursors());
    if (!cursors.haveBegun) return null;
    const settledMs = await this.#store.checkTotals.settledUntil(now);
    const { earliest } = cursors;
    const untilMs = Math.min(settledMs, earliest + 2 * this.#foldEveryMs);
    if (untilMs - earliest < this.#foldEveryMs) return now + this.#foldEveryMs / 2;
    await this.#fold(cursors, untilMs);
    return settledMs - untilMs >= this.#foldEveryMs ? now : now + this.#foldEveryMs / 2;
  }

  async #fold(cursors: ShardCursors, untilMs: number): Promise<void> {
    const added = new Map<string, LocationTotals>();
    for await (const runs of this.#runsAfter(cursors.earliest, untilMs)) {
      for (const run of runs) if (!cursors.include(run)) addRunTo(added, run);
    }
    const byShard = Map.groupBy(added.values(), ({ checkId }) => shardOf(checkId));
    for (let shard = 0; shard < shardCount; shard += 1) {
      const isLeader = await this.#store.leaderTransaction(async (repositories) => {
        await writeShard(
          repositories,
          shard,
          { fromMs: cursors.of(shard), untilMs },
          byShard.get(shard) ?? [],
        );
        return true;
      });
      if (!isLeader) return;
      await setImmediate();
    }
  }

  async *#runsAfter(startMs: number, untilMs: number): AsyncGenerator<EndedRun[]> {
    for (let after = startAfter(startMs); ; ) {
      const runs = await this.#store.checkTotals.endedRunsAfter(after, untilMs, this.#runsPerRead);
      yield runs;
      const last = runs.at(-1);
      if (!last || runs.length < this.#runsPerRead) return;
      after = { ended: last.ended, runId: last.id };
      // Yields to other requests.
      await setImmediate();
    }
  }
}

async function writeShard(
  { checkTotals }: Pick<Repositories, 'checkTotals'>,
  shard: number,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  added: readonly LocationTotals[],
): Promise<void> {
  const cursor = await checkTotals.lockCursor(shard);
  if (cursor?.ended !== fromMs) return;
  const checkIds = [...new Set(added.map(({ checkId }) => checkId))];
  const existing = await checkTotals.existing(checkIds);
  const stored = new Map((await checkTotals.totalsOf(checkIds)).map((one) => [keyOf(one), one.totals]));
  const written = added
    .filter(({ checkId }) => existing.has(checkId))
    .map((one) => ({ ...one, totals: mergeTotals(stored.get(keyOf(one)) ?? noTotals(), one.totals) }));
  await checkTotals.write(written);
  await checkTotals.moveCursor(shard, untilMs);
}

/** Key of totals in a map. */
export function keyOf({ checkId, location }: Pick<LocationTotals, 'checkId' | 'location'>): string {
  return `${checkId} ${location}`;
}

/** Adds a run to the totals of its check and location. */
export function addRunTo(all: Map<string, LocationTotals>, run: EndedRun): void {
  const place = { checkId: run.check_id, location: run.slot_location };
  const key = keyOf(place);
  const found = all.get(key) ?? { ...place, totals: noTotals() };
  all.set(key, found);
  addRun(found.totals, run);
}
