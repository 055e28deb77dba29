import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { TotalsCursorRow } from './tables.ts';

/** Number of short transactions that write the totals of all checks. */
export const shardCount = 32;

/** Shard of a check: it must never change, because the cursor of the shard says which runs its totals include. */
export function shardOf(checkId: string): number {
  let hash = 0;
  for (let index = 0; index < checkId.length; index += 1) {
    hash = (Math.imul(hash, 31) + checkId.charCodeAt(index)) | 0;
  }
  return (hash >>> 0) % shardCount;
}

/** How far the totals of each shard extend. */
export class ShardCursors {
  readonly #endedByShard: ReadonlyMap<number, number>;

  constructor(cursors: readonly TotalsCursorRow[]) {
    this.#endedByShard = new Map(cursors.map(({ shard, ended }) => [shard, ended]));
  }

  get haveBegun(): boolean {
    return this.#endedByShard.size === shardCount;
  }

  /** Runs that ended later are not in all totals. */
  get earliest(): number {
    return leastOf(this.#endedByShard.values());
  }

  of(shard: number): number {
    const ended = this.#endedByShard.get(shard);
    if (ended === undefined) throw new Error(`shard ${shard} has no cursor`);
    return ended;
  }

  /** Whether a run is already in the totals. */
  include(run: { readonly check_id: string; readonly ended: number }): boolean {
    return run.ended <= this.of(shardOf(run.check_id));
  }

  equals(other: ShardCursors): boolean {
    return [...this.#endedByShard].every(([shard, ended]) => other.#endedByShard.get(shard) === ended);
  }
}
