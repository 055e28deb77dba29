import type { Clock } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';

/** How long an expensive response is reused; dashboards poll at most every minute. */
const keptMs = 10_000;
const maxKept = 200;

interface Snapshot {
  readonly made: Promise<unknown>;
  /** On the monotonic clock; while it is being made, all requests share it. */
  untilMs: number;
  /** Whether other requests arrived while it was being made. */
  isShared: boolean;
}

/**
 * Shares public responses, which anyone may request as often as they like: concurrent requests share one, and an
 * expensive one, or one that several requested at once, is reused for some seconds. So a crowd at one page takes no
 * turns from readers of others, and a single reader sees fresh content.
 */
export class PageSnapshots {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #snapshots = new LruMap<string, Snapshot>(maxKept);

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @param isCostly whether the response was expensive. */
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
