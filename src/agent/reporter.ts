import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { ResultReceipt } from '../protocol/agent.ts';
import type { Outbox } from './outbox.ts';
import { wholeReport, withoutDetail } from './scrubber.ts';
import type { ServiceClient } from './service-client.ts';
import { retryDelayMs, ServiceError } from './service-error.ts';
import type { FinishedRun } from './worker-message.ts';

/** `quarantined` results were refused by the service for good; they are counted and logged, not kept. */
export type Settlement = ResultReceipt['status'] | 'quarantined';

const batchLimits = { maxCount: 100, maxSize: 4 * 1024 * 1024 };
const coalesceMs = 50;
/** Statuses that are about the results in the body, so that a smaller body may fare better. */
const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Sends reports. Each stays in the outbox or in the one upload under way until the service has given its receipt;
 * a repeated upload does no harm, because the service knows results by their id.
 *
 * RESTING: the outbox is empty. → COLLECTING when a report comes: it goes at once when nothing was sent for 50 ms,
 * otherwise 50 ms after the last upload began or when a batch is full. → UPLOADING: one batch at a time. A receipt settles
 * each report. An answer that blames the content (400, 413, 422) is met by halving the batch until the bad report is
 * alone, so that the others flow. A network error, 5xx or 429 puts what is not settled back. → BACKING_OFF: nothing is
 * sent until the delay is over, then COLLECTING. `stop` ends the upload under way from any state.
 */
export class Reporter {
  readonly #client: ServiceClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #outbox: Outbox;
  readonly #onSettled: (run: FinishedRun, settlement: Settlement) => void;
  readonly #beforeSending: () => void;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isUploading = false;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #retryAtMs = 0;
  #failedAttempts = 0;
  #emptied: PromiseWithResolvers<void> | undefined;
  #uploading: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly client: ServiceClient;
    readonly clock: Clock;
    readonly log: Logger;
    readonly outbox: Outbox;
    readonly onSettled: (run: FinishedRun, settlement: Settlement) => void;
    /** Called before each upload: the moment to notice that leases ran out meanwhile. */
    readonly beforeSending: () => void;
  }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#outbox = options.outbox;
    this.#onSettled = options.onSettled;
    this.#beforeSending = options.beforeSending;
  }

  add(run: FinishedRun): void {
    this.#outbox.add(run);
    this.#schedule();
  }

  /** Reports that are not settled yet, those under way included. */
  get isEmpty(): boolean {
    return this.#outbox.count === 0 && !this.#isUploading;
  }

  /** Resolves when every report is settled, or when the reporter is stopped. */
  async emptied(): Promise<void> {
    if (this.isEmpty || this.#stop.signal.aborted) return;
    this.#emptied ??= Promise.withResolvers();
    await this.#emptied.promise;
  }

  /** Ends the upload under way; resolves when what is not settled is back in the outbox. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stop.abort();
    this.#emptied?.resolve();
    await this.#uploading;
  }

  #schedule(): void {
    if (this.#isUploading || this.#stop.signal.aborted) return;
    if (this.#outbox.count === 0) {
      this.#emptied?.resolve();
      this.#emptied = undefined;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const collectedAtMs = this.#outbox.fills(batchLimits) ? nowMs : this.#lastStartMs + coalesceMs;
    const delayMs = Math.max(collectedAtMs, this.#retryAtMs) - nowMs;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const flush = () => {
      this.#uploading = this.#flush();
    };
    if (delayMs <= 0) flush();
    else this.#timer = setTimeout(flush, delayMs);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    this.#isUploading = true;
    this.#lastStartMs = this.#clock.monotonicMs();
    this.#beforeSending();
    const batches = [this.#outbox.take(batchLimits)];
    try {
      for (let batch = batches.pop(); batch; batch = batches.pop()) {
        try {
          const refused = await this.#upload(batch);
          if (refused.length > 0) batches.push(refused);
        } catch (thrown) {
          if (!(thrown instanceof ServiceError) || !contentStatuses.has(thrown.httpStatus ?? 0)) {
            batches.push(batch);
            throw thrown;
          }
          batches.push(...this.#smaller(batch, thrown));
        }
      }
      if (this.#failedAttempts > 0) this.#log.info('results are accepted again');
      this.#failedAttempts = 0;
    } catch (thrown) {
      this.#outbox.putBack(batches.reverse().flat());
      if (!(thrown instanceof ServiceError)) throw thrown;
      this.#backOff(thrown);
    } finally {
      this.#isUploading = false;
      this.#schedule();
    }
  }

  /** @returns what the service rejected together with its detail, without it: the verdict must not be lost with it. */
  async #upload(batch: readonly FinishedRun[]): Promise<FinishedRun[]> {
    const texts = batch.map((run) => wholeReport(run.envelopeJson, run.detailJson));
    const { body } = await this.#client.report(texts, this.#stop.signal);
    const again: FinishedRun[] = [];
    for (const [index, run] of batch.entries()) {
      const receipt = body.items[index];
      if (receipt?.status === 'rejected' && run.detailJson !== 'null') {
        this.#log.warn(
          { runId: run.runId, reason: receipt.reason },
          'the service rejected a result, which is sent again without its detail',
        );
        again.push({ ...run, ...withoutDetail(run.envelopeJson) });
      } else if (receipt) {
        this.#settle(run, receipt.status, receipt.reason);
      }
    }
    return again;
  }

  /** What to try instead of a batch whose content was refused. */
  #smaller(batch: readonly FinishedRun[], error: ServiceError): FinishedRun[][] {
    const [only] = batch;
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      return [batch.slice(middle), batch.slice(0, middle)];
    }
    if (!only) return [];
    if (error.httpStatus === 413 && only.detailJson !== 'null') {
      this.#log.warn(
        { runId: only.runId },
        'a result is too large for the service and goes without its detail',
      );
      return [[{ ...only, ...withoutDetail(only.envelopeJson) }]];
    }
    this.#settle(only, 'quarantined', error.message);
    return [];
  }

  #settle(run: FinishedRun, settlement: Settlement, reason: string | null): void {
    if (settlement === 'rejected' || settlement === 'quarantined') {
      this.#log.error(
        { runId: run.runId, resultId: run.resultId, settlement, reason },
        'the service refused a result for good; it is lost',
      );
    } else if (settlement === 'stale') {
      this.#log.warn(
        { runId: run.runId, resultId: run.resultId },
        'a result came too late and is not counted',
      );
    }
    this.#onSettled(run, settlement);
  }

  #backOff(error: ServiceError): void {
    if (error.kind === 'stopped') return;
    const delayMs = retryDelayMs(error, this.#failedAttempts);
    this.#retryAtMs = this.#clock.monotonicMs() + delayMs;
    const level = this.#failedAttempts === 0 ? 'warn' : 'debug';
    this.#failedAttempts++;
    this.#log[level](
      { code: error.code, waiting: this.#outbox.count, retryMs: Math.round(delayMs) },
      `results could not be sent and are kept: ${error.message}`,
    );
  }
}
