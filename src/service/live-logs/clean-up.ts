import type { Clock } from '@picket/lib/clock.ts';
import type { Store } from '@picket/platform/store/store.ts';

const pauseMs = 15_000;

/** Deletes lines of runs that have ended: their results have the log. */
export class LiveLogCleanUp {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  async turn(): Promise<number | null> {
    const isMoreLeft = await this.#store.liveLogs.removeEnded();
    return isMoreLeft ? this.#clock.wallMs() + pauseMs : null;
  }
}
