import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';

/** How long an answer is given again without asking the database. */
const freshMs = 10_000;
/** How long a reader waits for a new answer where there is an old one. */
const patienceMs = 2_000;
/** After a failure the old answer is given for so long before another try. */
const pauseMs = 5_000;
const keptBytes = 64 * 1024 * 1024;

export interface CachedResponse<T> {
  readonly value: T;
  /** The present one could not be made: this is what was so before. */
  readonly isStale: boolean;
}

interface Entry<T> {
  readonly value: T;
  /** On the monotonic clock. */
  madeAtMs: number;
  retryAtMs: number;
}

/**
 * What is made of the database for everybody, so that a crowd costs no more than one reader and the last
 * answer is there when the database is not. An answer is fresh for ten seconds. Then one reader's request
 * makes the next one, which all who come meanwhile share. When that takes more than two seconds, or
 * fails so that the old answer is better than none (`isBetterOld`), it is given as a stale one, for as long
 * as it takes. Any other failure (there is no such page any more) forgets the old answer and is passed on.
 *
 * Answers are in the memory of the process: it has those that it was asked for since it started. Where it has
 * none and cannot make one, what was kept elsewhere (`recall`) is given as a stale one. What `recall` throws is
 * passed on: the old answer is not for this reader any more.
 */
export class ResponseCache<T> {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly #isBetterOld: (thrown: unknown) => boolean;
  readonly #entries: LruMap<string, Entry<T> | null>;
  readonly #making = new Map<string, Promise<T>>();

  constructor(options: {
    readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
    readonly isBetterOld: (thrown: unknown) => boolean;
    readonly bytesOf: (value: T) => number;
  }) {
    this.#clock = options.clock;
    this.#isBetterOld = options.isBetterOld;
    this.#entries = new LruMap(keptBytes, (entry) => (entry ? options.bytesOf(entry.value) : 100));
  }

  /** @throws what `make` throws when there is no old answer to give. */
  async get(
    key: string,
    make: () => Promise<T>,
    recall?: () => Promise<T | undefined>,
  ): Promise<CachedResponse<T>> {
    const entry = this.#entries.get(key) ?? null;
    const nowMs = this.#clock.monotonicMs();
    if (!entry) return this.#first(key, make, recall);
    if (nowMs < entry.madeAtMs + freshMs) return { value: entry.value, isStale: false };
    if (nowMs < entry.retryAtMs) return { value: entry.value, isStale: true };
    const made = await this.#patiently(this.#make(key, make));
    if (made && 'value' in made) return { value: made.value, isStale: false };
    if (made && !this.#isBetterOld(made.thrown)) throw made.thrown;
    if (recall) await this.#refusing(key, recall);
    entry.retryAtMs = this.#clock.monotonicMs() + pauseMs;
    return { value: entry.value, isStale: true };
  }

  /** What was kept elsewhere may know that this reader may not see it any more. */
  async #refusing(key: string, recall: () => Promise<T | undefined>): Promise<void> {
    try {
      await recall();
    } catch (thrown) {
      this.#entries.set(key, null);
      throw thrown;
    }
  }

  async #first(
    key: string,
    make: () => Promise<T>,
    recall: (() => Promise<T | undefined>) | undefined,
  ): Promise<CachedResponse<T>> {
    const making = this.#make(key, make);
    if (!recall) return { value: await making, isStale: false };
    const made = await this.#patiently(making);
    if (made && 'value' in made) return { value: made.value, isStale: false };
    if (made && !this.#isBetterOld(made.thrown)) throw made.thrown;
    const value = await recall();
    if (value === undefined) return { value: await making, isStale: false };
    const retryAtMs = this.#clock.monotonicMs() + pauseMs;
    this.#entries.set(key, { value, madeAtMs: Number.NEGATIVE_INFINITY, retryAtMs });
    return { value, isStale: true };
  }

  /** What comes of making an answer; undefined when that takes longer than a reader waits. */
  async #patiently(
    making: Promise<T>,
  ): Promise<{ readonly value: T } | { readonly thrown: unknown } | undefined> {
    let made: { readonly value: T } | { readonly thrown: unknown } | undefined;
    const settled = making.then(
      (value) => {
        made = { value };
      },
      (thrown: unknown) => {
        made = { thrown };
      },
    );
    await waitAtMost(this.#clock, settled, patienceMs);
    return made;
  }

  #make(key: string, make: () => Promise<T>): Promise<T> {
    const running = this.#making.get(key);
    if (running) return running;
    const making = this.#keep(key, make).finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }

  async #keep(key: string, make: () => Promise<T>): Promise<T> {
    try {
      const value = await make();
      this.#entries.set(key, { value, madeAtMs: this.#clock.monotonicMs(), retryAtMs: 0 });
      return value;
    } catch (thrown) {
      if (!this.#isBetterOld(thrown) && this.#entries.get(key)) this.#entries.set(key, null);
      throw thrown;
    }
  }
}
