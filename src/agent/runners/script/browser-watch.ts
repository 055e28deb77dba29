import type { Clock } from '@picket/lib/clock.ts';

/** Minimum interval between trial starts of the browser: each takes half a second of processor time. */
const restMs = 30_000;

/**
 * Knows whether the browser starts, by starting it: once at first, again after a run reports that it does not, and from
 * then on every half minute until it does.
 *
 * RESTING → TRYING after `runFailed` → RESTING if it starts, else → BROKEN. → TRYING after the interval.
 */
export class BrowserWatch {
  readonly #options: BrowserWatchOptions;
  readonly #closing = new AbortController();
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #works = true;
  #isWatching = false;

  constructor(options: BrowserWatchOptions) {
    this.#options = options;
  }

  /** Tries at once; resolves when it is known whether the browser starts. */
  async tryNow(): Promise<void> {
    await this.#try();
    if (!this.#works) void this.#watch();
  }

  /** A run reported that the browser is missing or did not start, which may affect only that run. */
  runFailed(): void {
    void this.#watch();
  }

  close(): void {
    this.#closing.abort();
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { clock, onChanged } = this.#options;
    const { signal } = this.#closing;
    try {
      do {
        await clock.sleep(this.#triedAtMs + restMs - clock.monotonicMs(), signal);
        if (signal.aborted) return;
        const worked = this.#works;
        await this.#try();
        if (signal.aborted) return;
        if (this.#works !== worked) await onChanged();
      } while (!this.#works);
    } finally {
      this.#isWatching = false;
    }
  }

  async #try(): Promise<void> {
    this.#works = await this.#options.tryBrowser();
    this.#triedAtMs = this.#options.clock.monotonicMs();
  }
}

export interface BrowserWatchOptions {
  readonly clock: Clock;
  /** @returns whether the browser starts. */
  readonly tryBrowser: () => Promise<boolean>;
  /** Called when the result of the trials has changed. */
  readonly onChanged: () => Promise<void>;
}
