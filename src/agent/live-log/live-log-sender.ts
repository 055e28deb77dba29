import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { ServiceError } from '../client/service-error.ts';
import type { LinesOfRun } from '../run/contracts.ts';

const intervalMs = 1000;
/** Pause after a failed call, unless the service names another. */
const failedPauseMs = 5_000;
/** A run that no answer of the service has named for this long is no longer followed. */
const followedMs = 20_000;

export interface LiveLogSenderOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Logger;
  /** Asks the thread of the scripts for the next lines of these runs: `take` gets them. */
  readonly read: (runIds: readonly string[]) => void;
  /** Sends lines; returns which of their runs are still followed. */
  readonly send: (runs: readonly LinesOfRun[]) => Promise<readonly string[]>;
}

/**
 * Sends the log of runs while they go, as long as the service says that someone reads it.
 *
 * IDLE: no reader, no timer, no call. → FOLLOWING with the first run that an answer of the service names:
 * every second it asks for new lines, and sends them in one call at a time. If a call fails, its lines are sent again
 * with the next turn, and no others are read meanwhile. → IDLE when no answer has named a run for a while, when the
 * service says so, or when it does not know the call.
 *
 * It never waits for anything that a result needs, and a lost line is no loss: the result has the whole log.
 */
export class LiveLogSender {
  readonly #options: LiveLogSenderOptions;
  /** Until when each run is followed, on the monotonic clock. */
  readonly #followed = new Map<string, number>();
  #unsent: readonly LinesOfRun[] = [];
  #pausedUntilMs = 0;
  #isSending = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveLogSenderOptions) {
    this.#options = options;
  }

  /** Called with the runs that an answer of the service names as followed. */
  follow(runIds: readonly string[]): void {
    if (runIds.length === 0 || this.#isStopped) return;
    const untilMs = this.#options.clock.monotonicMs() + followedMs;
    for (const runId of runIds) this.#followed.set(runId, untilMs);
    this.#timer ??= setInterval(() => this.#turn(), intervalMs).unref();
  }

  /** Takes lines from the thread. */
  take(runs: readonly LinesOfRun[]): void {
    const wanted = runs.filter(({ runId }) => this.#followed.has(runId));
    if (wanted.length === 0) return;
    this.#unsent = [...this.#unsent, ...wanted];
    if (!this.#isSending && this.#pausedUntilMs <= this.#options.clock.monotonicMs()) void this.#send();
  }

  stop(): void {
    this.#isStopped = true;
    this.#forgetAll();
  }

  #turn(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [runId, untilMs] of this.#followed) if (untilMs <= nowMs) this.#followed.delete(runId);
    if (this.#followed.size === 0) this.#forgetAll();
    else if (this.#isSending || nowMs < this.#pausedUntilMs) return;
    else if (this.#unsent.length > 0) void this.#send();
    else this.#options.read([...this.#followed.keys()]);
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    const runs = this.#unsent;
    try {
      const followed = new Set(await this.#options.send(runs));
      this.#unsent = this.#unsent.slice(runs.length);
      for (const { runId } of runs) if (!followed.has(runId)) this.#followed.delete(runId);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      const isTransient = thrown.kind === 'unreachable' || thrown.kind === 'busy';
      this.#options.log.debug({ code: thrown.code, reason: thrown.message }, 'failed to send a live log');
      if (!isTransient) this.#forgetAll();
      this.#pausedUntilMs = this.#options.clock.monotonicMs() + (thrown.retryAfterMs ?? failedPauseMs);
    } finally {
      this.#isSending = false;
    }
  }

  #forgetAll(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#followed.clear();
    this.#unsent = [];
  }
}
