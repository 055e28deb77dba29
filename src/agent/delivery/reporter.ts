import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { resultRetryDelayMs, type ServiceError } from '../client/service-error.ts';
import type { Report } from '../run/contracts.ts';
import { type BatchLimits, Outbox, type ReportTiming, type WaitingReport } from './outbox.ts';
import type { SpoolKind } from './spool/segment.ts';
import type { Spool } from './spool/spool.ts';
import { type UploadOptions, upload } from './upload.ts';

const batchLimits: BatchLimits = { maxCount: 100, maxSize: 4 * 1024 * 1024 };
/** The backlog is not urgent, but large. */
const backlogLimits: BatchLimits = { maxCount: 500, maxSize: 4 * 1024 * 1024 };
/** With more fresh reports than this in a batch, the newest would wait for the others. */
const freshLimits: BatchLimits = { maxCount: 200, maxSize: 8 * 1024 * 1024 };
const coalesceMs = 100;
/** How long after its run a report is sent if it may wait for others. */
const patienceMs = 1000;
/** Pause after the spool returned no reports from a backlog that is not empty. */
const emptyTakeMs = 1000;
/** Base delay of a retry once another call has succeeded. */
const answeredRetryMs = 250;

/**
 * Sends reports, on two lines. Sending one twice is harmless, because the service recognizes results by their id.
 *
 * FRESH: reports of runs that just finished. A report is sent at once if none was sent for 100 ms, otherwise 100 ms after
 * the last upload began or when a batch is full; one batch at a time. A report that may wait is sent with the next one
 * that may not, or after a second. Reports that are not settled or do not fit the
 * outbox go to the backlog of the spool.
 *
 * BACKLOG: at the same time, one batch after the other, oldest first, until it is empty.
 *
 * If an upload fails, both lines BACK OFF together. Then the fresh line retries first, and the backlog follows once the
 * service takes results again; without fresh reports the backlog retries. `serviceAnswered` ends the delay early,
 * because another call found the service back. `stop` aborts uploads from any state.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #outbox: Outbox;
  readonly #stop = new AbortController();
  #freshTimer: { readonly atMs: number; readonly timer: NodeJS.Timeout } | undefined;
  #backlogTimer: NodeJS.Timeout | undefined;
  #freshUpload: Promise<void> | undefined;
  #backlogUpload: Promise<void> | undefined;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  /** When the next fresh upload may begin at the latest, unless one fails. */
  #freshAtMs = Number.POSITIVE_INFINITY;
  #retryAtMs = 0;
  #failedAtMs = 0;
  #failedAttempts = 0;
  #isAskedToWait = false;
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#outbox = new Outbox({ ...freshLimits, onOverflow: (reports) => options.spool.release(reports) });
  }

  /** Keeps a report in the spool and sends it. */
  add(report: Report, kind: SpoolKind, options: ReportTiming): void {
    this.#outbox.add(this.#options.spool.add(report, kind, options));
    const isLast = this.#emptied !== undefined;
    const nowMs = this.#options.clock.monotonicMs();
    const patientAtMs = (options.endedAtMs ?? nowMs) + patienceMs;
    const atMs = options.mayWait && !isLast ? patientAtMs : this.#lastStartMs + coalesceMs;
    this.#freshAtMs = Math.min(this.#freshAtMs, atMs);
    this.#scheduleFresh();
  }

  /** Number of reports known here that are not settled, without those being uploaded. */
  get waitingCount(): number {
    return this.#outbox.count + this.#options.spool.backlogCount;
  }

  /** The backlog may contain reports. */
  backlogChanged(): void {
    this.#scheduleBacklog();
    this.#resolveEmptied();
  }

  /** A call succeeded: uploads that failed because the service was unreachable may be retried. */
  serviceAnswered(): void {
    if (this.#failedAttempts === 0 || this.#isAskedToWait) return;
    // If only results fail, responses to other calls must not cause a busy loop.
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#failedAtMs + answeredRetryMs * (1 + Math.random()));
    this.#scheduleFresh();
    this.#scheduleBacklog();
  }

  /** Resolves when every report is settled, or when the reporter is stopped. */
  async emptied(): Promise<void> {
    if (this.#isEmpty || this.#stop.signal.aborted) return;
    this.#emptied ??= Promise.withResolvers();
    this.#freshAtMs = this.#options.clock.monotonicMs();
    this.#scheduleFresh();
    await this.#emptied.promise;
  }

  /** Aborts uploads; resolves when unsettled reports are back in the spool. */
  async stop(): Promise<void> {
    clearTimeout(this.#freshTimer?.timer);
    clearTimeout(this.#backlogTimer);
    this.#stop.abort();
    this.#emptied?.resolve();
    await Promise.all([this.#freshUpload, this.#backlogUpload]);
    this.#options.spool.release(this.#outbox.takeAll());
  }

  get #isEmpty(): boolean {
    return this.waitingCount === 0 && !this.#freshUpload && !this.#backlogUpload;
  }

  #resolveEmptied(): void {
    if (!this.#emptied || !this.#isEmpty) return;
    this.#emptied.resolve();
    this.#emptied = undefined;
  }

  #scheduleFresh(): void {
    if (this.#freshUpload || this.#stop.signal.aborted || this.#outbox.count === 0) return;
    const nowMs = this.#options.clock.monotonicMs();
    const collectedAtMs = this.#outbox.fills(batchLimits) ? nowMs : this.#freshAtMs;
    const atMs = Math.max(collectedAtMs, this.#retryAtMs);
    // Most reports are sent with one that came before, whose timer is set.
    if (atMs > nowMs && this.#freshTimer?.atMs === atMs) return;
    clearTimeout(this.#freshTimer?.timer);
    this.#freshTimer = undefined;
    if (atMs <= nowMs) this.#freshUpload = this.#sendFresh();
    else this.#freshTimer = { atMs, timer: setTimeout(() => this.#freshTimeCame(), atMs - nowMs) };
  }

  #freshTimeCame(): void {
    this.#freshTimer = undefined;
    this.#scheduleFresh();
  }

  async #sendFresh(): Promise<void> {
    this.#lastStartMs = this.#options.clock.monotonicMs();
    const batch = this.#outbox.take(batchLimits);
    this.#freshAtMs = this.#outbox.count > 0 ? this.#lastStartMs + coalesceMs : Number.POSITIVE_INFINITY;
    await this.#send(batch);
    this.#freshUpload = undefined;
    this.#scheduleFresh();
    this.#scheduleBacklog();
    this.#resolveEmptied();
  }

  #scheduleBacklog(): void {
    clearTimeout(this.#backlogTimer);
    if (this.#backlogUpload || this.#stop.signal.aborted || this.#options.spool.backlogCount === 0) return;
    const isFreshToTry = this.#failedAttempts > 0 && (this.#outbox.count > 0 || this.#freshUpload);
    if (isFreshToTry) return;
    const delayMs = this.#retryAtMs - this.#options.clock.monotonicMs();
    if (delayMs > 0) this.#backlogTimer = setTimeout(() => this.#scheduleBacklog(), delayMs);
    else this.#backlogUpload = this.#sendBacklog();
  }

  async #sendBacklog(): Promise<void> {
    const batch = await this.#options.spool.take(backlogLimits);
    for (const waiting of batch) this.#options.onTaken(waiting);
    if (batch.length > 0) await this.#send(batch);
    this.#backlogUpload = undefined;
    if (batch.length > 0) this.#scheduleBacklog();
    else if (!this.#stop.signal.aborted) {
      this.#backlogTimer = setTimeout(() => this.#scheduleBacklog(), emptyTakeMs);
    }
    this.#resolveEmptied();
  }

  async #send(batch: WaitingReport[]): Promise<void> {
    if (batch.length === 0) return;
    await this.#options.beforeSending();
    const failed = await upload(batch, this.#options, this.#stop.signal);
    if (failed) {
      this.#backOff(failed.error);
      this.#options.spool.release(failed.unsettled);
      return;
    }
    if (this.#failedAttempts > 0) this.#options.log.info('service accepts results again');
    this.#failedAttempts = 0;
    this.#isAskedToWait = false;
    this.#retryAtMs = 0;
  }

  #backOff(error: ServiceError): void {
    if (error.kind === 'stopped') return;
    const delayMs = resultRetryDelayMs(error, this.#failedAttempts);
    this.#failedAtMs = this.#options.clock.monotonicMs();
    this.#retryAtMs = this.#failedAtMs + delayMs;
    this.#isAskedToWait = error.kind !== 'unreachable' || error.httpStatus !== undefined;
    const level = this.#failedAttempts === 0 ? 'warn' : 'debug';
    this.#failedAttempts++;
    this.#options.log[level](
      { code: error.code, reason: error.message, waiting: this.waitingCount, retryMs: Math.round(delayMs) },
      'failed to send results; keeping them',
    );
  }
}

export interface ReporterOptions extends UploadOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly spool: Spool;
  /** Called for each report taken from the spool, before it is sent. */
  readonly onTaken: (waiting: WaitingReport) => void;
  /** Called before each upload, to notice leases that expired meanwhile. */
  readonly beforeSending: () => Promise<void>;
}
