import type { Clock } from '@picket/lib/clock.ts';

/** How long a browser is left alone after it was started for trial: each trial takes half a second of processor time. */
const restMs = 30_000;

/**
 * Knows whether the browser starts, by starting it: once at first, again when a run found that it does not, and every
 * half a minute from then on until it does.
 *
 * RESTING → TRYING with `runFailed` → RESTING when it starts, else → BROKEN. → TRYING after the rest.
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

  /** A trial at once; resolves when it is known whether the browser starts. */
  async tryNow(): Promise<void> {
    await this.#try();
    if (!this.#works) void this.#watch();
  }

  /** A run reported that the browser is missing or did not start: it may be that run's alone. */
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
  /** Called when it starts again, or does not any longer. */
  readonly onChanged: () => Promise<void>;
}
