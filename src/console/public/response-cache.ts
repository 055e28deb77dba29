import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';

/** How long a response is reused without a query of the database. */
const freshMs = 10_000;
/** How long a reader waits for a new response before getting an old one. */
const patienceMs = 2_000;
/** Pause after a failure, with the old response, before another attempt. */
const pauseMs = 5_000;
const keptBytes = 64 * 1024 * 1024;

export interface CachedResponse<T> {
  readonly value: T;
  /** The current response could not be made: this is an earlier one. */
  readonly isStale: boolean;
}

interface Entry<T> {
  readonly value: T;
  /** On the monotonic clock. */
  madeAtMs: number;
  retryAtMs: number;
}

/**
 * Caches public responses derived from the database, so that a crowd costs no more than one reader and the last
 * response is available when the database is not. A response is fresh for ten seconds. Then one request makes the next
 * one, which all concurrent requests share. If that takes more than two seconds, or fails so that the old response is
 * better than an error (`isBetterOld`), the old one is returned as stale, until a new one is ready. Any other failure
 * (such as a deleted page) discards the old response and is thrown.
 *
 * The cache is in the memory of the process and contains only responses requested since its start. If a response is
 * neither cached nor can be made, a copy stored elsewhere (`recall`) is returned as stale. Errors of `recall` are
 * thrown: this reader may no longer see the old response.
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

  /** @throws the error of `make` if there is no old response. */
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

  /** The copy stored elsewhere may show that this reader has lost access. */
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

  /** Waits for a new response; undefined if that exceeds the patience of a reader. */
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
