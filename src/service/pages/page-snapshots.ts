import type { Clock } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';

/** How long a costly answer is given again; dashboards ask again every minute at most. */
const keptMs = 10_000;
const maxKept = 200;

interface Snapshot {
  readonly made: Promise<unknown>;
  /** On the monotonic clock; while it is being made, it is everybody's. */
  untilMs: number;
  /** Others asked for it while it was being made. */
  isShared: boolean;
}

/**
 * What anybody may ask for, as often as they like, is made once: requests at the same time share an answer,
 * and one that took much work, or that several asked for at once, is given again for some seconds. So a crowd at one
 * page takes no turns from the readers of others, and who reads alone sees what is new.
 */
export class PageSnapshots {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #snapshots = new LruMap<string, Snapshot>(maxKept);

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @param isCostly whether what was made took much work. */
  async get<T>(key: string, make: () => Promise<T>, isCostly: (made: T) => boolean): Promise<T> {
    const known = this.#snapshots.get(key);
    if (known && known.untilMs > this.#clock.monotonicMs()) {
      if (known.untilMs === Number.POSITIVE_INFINITY) known.isShared = true;
      return (await known.made) as T;
    }
    const made = make();
    const snapshot: Snapshot = { made, untilMs: Number.POSITIVE_INFINITY, isShared: false };
    this.#snapshots.set(key, snapshot);
    try {
      const value = await made;
      const isKept = snapshot.isShared || isCostly(value);
      snapshot.untilMs = isKept ? this.#clock.monotonicMs() + keptMs : 0;
      return value;
    } catch (thrown) {
      snapshot.untilMs = 0;
      throw thrown;
    }
  }
}
