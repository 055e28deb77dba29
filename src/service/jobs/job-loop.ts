import { backoffDelayMs, type Clock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';

export interface AlarmOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Does what is due and returns when to be called next, in epoch milliseconds; null when nothing is known. */
  readonly work: () => Promise<number | null>;
  /** The longest sleep. Clocks jump and signals get lost, so nobody relies on one timer for long. */
  readonly longestMs: number;
}

/** Shortest sleep between two turns: what is due within it is done together. */
const shortestMs = 20;

/**
 * A loop that works, sleeps until the next thing is due, and can be woken. Turns never overlap. When the work throws,
 * the loop goes on with growing pauses: a database that is away for an hour must not end it.
 */
export class Alarm {
  readonly #options: AlarmOptions;
  readonly #stopping = new AbortController();
  #woken = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: AlarmOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Makes the next turn begin at once; during a turn, right after it. */
  wake(): void {
    this.#woken.abort();
  }

  /** Resolves when the turn under way is done; there will be no other. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, logger, name, work, longestMs } = this.#options;
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#woken = new AbortController();
      let sleepMs = longestMs;
      try {
        const next = await work();
        failures = 0;
        if (next !== null) sleepMs = Math.min(longestMs, Math.max(shortestMs, next - clock.wallMs()));
      } catch (thrown) {
        sleepMs = 250 + backoffDelayMs(failures, { baseMs: 250, capMs: 3_000 });
        failures += 1;
        const level = failures === 1 ? 'error' : 'debug';
        logger[level]({ reason: toError(thrown).message }, `the ${name} could not do its work; trying again`);
      }
      const signal = AbortSignal.any([this.#woken.signal, this.#stopping.signal]);
      await clock.sleep(sleepMs, signal);
    }
  }
}
