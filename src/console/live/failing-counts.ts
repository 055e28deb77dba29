import type { Clock } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Store } from '@picket/platform/store/store.ts';

/** Maximum share of time for counting, regardless of the number of readers. */
const shareOfTime = 0.05;
/** States also change by time alone: a check without results is no longer failing, but not measured. */
const longestKeptMs = 10_000;
const keptAccounts = 1_000;

interface KeptCount {
  readonly count: Promise<number>;
  /** State of the account: its newest status, and its last write. */
  readonly seen: string;
  readonly begunMs: number;
  /** Duration of the count; infinite while it runs. */
  tookMs: number;
}

/**
 * Number of failing checks of an account, which the title and the icon of every page show. Counting scans all checks of
 * the account, so a count is kept until something changed, and, where counting takes long, for twenty times as long as
 * it took.
 */
export class FailingCounts {
  readonly #store: Store;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #kept = new LruMap<string, KeptCount>(keptAccounts);

  constructor({ store, clock }: { readonly store: Store; readonly clock: Pick<Clock, 'wallMs'> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @param asked.version of the account's statuses; `withoutTag`: checks with this tag are not counted. */
  async of(
    accountId: string,
    { version, withoutTag }: { readonly version: number; readonly withoutTag: string | undefined },
  ): Promise<number> {
    const seen = `${version} ${await this.#store.audit.lastWrite(accountId)}`;
    const key = `${accountId} ${withoutTag ?? ''}`;
    const known = this.#kept.get(key);
    if (known && isFresh(known, seen)) return known.count;
    const begunMs = performance.now();
    const counting = this.#store.overviews.total(
      accountId,
      { state: 'failed', withoutTag },
      this.#clock.wallMs(),
    );
    const kept: KeptCount = { count: counting, seen, begunMs, tookMs: Number.POSITIVE_INFINITY };
    this.#kept.set(key, kept);
    try {
      const count = await counting;
      kept.tookMs = performance.now() - begunMs;
      return count;
    } catch (thrown) {
      this.#kept.delete(key);
      throw thrown;
    }
  }
}

function isFresh({ begunMs, tookMs, seen }: KeptCount, now: string): boolean {
  const ageMs = performance.now() - begunMs;
  return ageMs < Math.min(longestKeptMs, seen === now ? longestKeptMs : tookMs / shareOfTime);
}
