import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { ServiceError } from '../client/service-error.ts';
import type { LinesOfRun, TailPlace } from '../run/contracts.ts';

const intervalMs = 1000;
/** Pause after a failed call, unless the service names another. */
const failedPauseMs = 5_000;
/** A run that no answer of the service has named for this long is no longer followed. */
const followedMs = 20_000;
/** Runs whose progress is kept while no one follows them. */
const maxKnownRuns = 200;

const unread: Omit<TailPlace, 'runId'> = { leaseNumber: 0, nextLine: 0, isFull: false };

export interface LiveLogSenderOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Logger;
  /** Requests the next lines of these runs from the thread of the scripts: `take` gets them. */
  readonly read: (places: readonly TailPlace[]) => void;
  /** Sends lines; returns which of their runs are still followed: the service has the lines of these. */
  readonly send: (runs: readonly LinesOfRun[]) => Promise<readonly string[]>;
}

/**
 * Sends the log of runs while they go, as long as the service says that someone reads it.
 *
 * IDLE: no reader, no timer, no call. → FOLLOWING with the first run that an answer of the service names: every second it
 * reads the lines after those that the service has, and sends them, one call at a time. The lines of a failed call are
 * read again after a pause. → IDLE when no answer has named a run for a while, when the service says so, or when it does
 * not know the call.
 *
 * It never waits for anything that a result needs, and a lost line is no loss: the result has the whole log.
 */
export class LiveLogSender {
  readonly #options: LiveLogSenderOptions;
  /** Until when each run is followed, on the monotonic clock. */
  readonly #followed = new Map<string, number>();
  /** Where the service has the log of each run up to. */
  readonly #progress = new Map<string, typeof unread>();
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
    if (this.#timer) return;
    this.#timer = setInterval(() => this.#turn(), intervalMs).unref();
    this.#turn();
  }

  /** Takes lines from the thread. */
  take(runs: readonly LinesOfRun[]): void {
    const wanted = runs.filter((run) => this.#followed.has(run.runId) && this.#isNext(run));
    if (wanted.length > 0 && !this.#isSending && !this.#isPaused) void this.#send(wanted);
  }

  stop(): void {
    this.#isStopped = true;
    this.#forgetAll();
  }

  get #isPaused(): boolean {
    return this.#options.clock.monotonicMs() < this.#pausedUntilMs;
  }

  /** Whether these lines are the ones after those that the service has. */
  #isNext({ runId, leaseNumber, firstLine }: LinesOfRun): boolean {
    const known = this.#progress.get(runId) ?? unread;
    return firstLine === (known.leaseNumber === leaseNumber ? known.nextLine : 0);
  }

  #turn(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [runId, untilMs] of this.#followed) if (untilMs <= nowMs) this.#followed.delete(runId);
    if (this.#followed.size === 0) this.#forgetAll();
    else if (!this.#isSending && !this.#isPaused) {
      const runIds = [...this.#followed.keys()];
      this.#options.read(runIds.map((runId) => ({ runId, ...(this.#progress.get(runId) ?? unread) })));
    }
  }

  async #send(runs: readonly LinesOfRun[]): Promise<void> {
    this.#isSending = true;
    try {
      const followed = new Set(await this.#options.send(runs));
      for (const { runId, leaseNumber, firstLine, lines, isFull } of runs) {
        if (!followed.has(runId)) this.#followed.delete(runId);
        else {
          this.#progress.delete(runId);
          this.#progress.set(runId, { leaseNumber, nextLine: firstLine + lines.length, isFull });
        }
      }
      for (const oldest of this.#progress.keys()) {
        if (this.#progress.size <= maxKnownRuns) break;
        this.#progress.delete(oldest);
      }
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
  }
}
