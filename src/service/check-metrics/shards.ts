import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { TotalsCursorRow } from './tables.ts';

/** The totals of all checks are written in that many transactions, each short. */
export const shardCount = 32;

/** The shard of a check: the same for ever, since its cursor says what is in its totals. */
export function shardOf(checkId: string): number {
  let hash = 0;
  for (let index = 0; index < checkId.length; index += 1) {
    hash = (Math.imul(hash, 31) + checkId.charCodeAt(index)) | 0;
  }
  return (hash >>> 0) % shardCount;
}

/** Up to when the totals of each shard are. */
export class ShardCursors {
  readonly #endedByShard: ReadonlyMap<number, number>;

  constructor(cursors: readonly TotalsCursorRow[]) {
    this.#endedByShard = new Map(cursors.map(({ shard, ended }) => [shard, ended]));
  }

  get haveBegun(): boolean {
    return this.#endedByShard.size === shardCount;
  }

  /** What ended later is not in all totals. */
  get earliest(): number {
    return leastOf(this.#endedByShard.values());
  }

  of(shard: number): number {
    const ended = this.#endedByShard.get(shard);
    if (ended === undefined) throw new Error(`shard ${shard} has no cursor`);
    return ended;
  }

  /** Whether a run is in the totals already. */
  include(run: { readonly check_id: string; readonly ended: number }): boolean {
    return run.ended <= this.of(shardOf(run.check_id));
  }

  equals(other: ShardCursors): boolean {
    return [...this.#endedByShard].every(([shard, ended]) => other.#endedByShard.get(shard) === ended);
  }
}
