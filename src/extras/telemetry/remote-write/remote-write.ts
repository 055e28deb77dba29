import { backoffDelayMs, type Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { headersOf } from '@picket/platform/outbound/header-list.ts';
import { type Delivery, OutboundHttp } from '@picket/platform/outbound/outbound-http.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import type { CheckMetrics } from '@picket/service/check-metrics/check-metrics.ts';
import { type SeriesOfState, type WriteRequest, WriteRequests } from './write-requests.ts';

export type RemoteWriteSettings = Pick<
  ServiceConfig,
  | 'REMOTE_WRITE_URL'
  | 'REMOTE_WRITE_HEADERS'
  | 'REMOTE_WRITE_INTERVAL_SECONDS'
  | 'EGRESS_ALLOW'
  | 'EGRESS_DENY'
>;

export interface RemoteWriteOptions {
  readonly config: RemoteWriteSettings;
  readonly checkMetrics: Pick<CheckMetrics, 'writeAll'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { countRemoteWrite(outcome: 'sent' | 'refused' | 'dropped', samples: number): void };
  /** Size limit of requests that wait in memory. */
  readonly mostWaitingBytes?: number;
}

const defaultMostWaitingBytes = 64 * 1024 * 1024;
/** Older samples are dropped, because receivers refuse them: another leader sent them, or the gap is permanent. */
const oldestMs = 60 * 60_000;
const timeoutMs = 30_000;
const pauses = { baseMs: 1_000, capMs: 30_000 } as const;

/**
 * Writes the metrics of checks to a remote-write receiver. Only the leading process writes.
 *
 * At each interval all samples become requests, which are sent one at a time, so that the samples of a series keep
 * their order. While the receiver is unavailable they wait in memory, and later fill the gap. If there are too many,
 * the oldest are dropped.
 */
export class RemoteWrite {
  readonly #options: RemoteWriteOptions;
  readonly #http: OutboundHttp;
  readonly #headers: readonly (readonly [string, string])[];
  readonly #waiting: WriteRequest[] = [];
  #waitingBytes = 0;
  /** State series of checks at the last interval. */
  #ofState: SeriesOfState = new Map();
  #nextTakeMs = 0;
  #failures = 0;
  #isStopping = false;
  /** State of the receiver as last logged. */
  #said: 'well' | 'away' | 'refuses' = 'well';

  constructor(options: RemoteWriteOptions) {
    const { EGRESS_ALLOW: allow, EGRESS_DENY: deny, REMOTE_WRITE_HEADERS: headers } = options.config;
    this.#options = options;
    // The operator chose the receiver, which often runs next to the service.
    const policy = createEgressPolicy({ allow, deny, ownPorts: [], isLoopbackClosed: false });
    this.#http = new OutboundHttp(policy, { timeoutMs });
    this.#headers = [
      ['content-type', 'application/x-protobuf'],
      ['content-encoding', 'snappy'],
      ['x-prometheus-remote-write-version', '0.1.0'],
      ['user-agent', `picket/${packageVersion()}`],
      ...headersOf(headers),
    ];
  }

  /** Takes samples when due, and sends waiting requests; returns when to continue. */
  async turn(): Promise<number> {
    const { clock, config } = this.#options;
    const now = clock.wallMs();
    const intervalMs = config.REMOTE_WRITE_INTERVAL_SECONDS * 1000;
    // Also due if the clock was set back.
    if (now >= this.#nextTakeMs || this.#nextTakeMs - now > intervalMs) {
      await this.#take(now);
      this.#nextTakeMs = now + intervalMs;
    }
    this.#dropOld(now);
    while (this.#waiting.length > 0 && !this.#isStopping) {
      const [request] = this.#waiting as [WriteRequest];
      const delivery = await this.#send(request);
      if (!delivery.isDelivered && delivery.isRetryable) {
        this.#say('away', delivery.result);
        const pauseMs = delivery.retryAfterMs ?? 250 + backoffDelayMs(this.#failures, pauses);
        this.#failures += 1;
        return Math.min(this.#nextTakeMs, clock.wallMs() + Math.min(pauses.capMs, pauseMs));
      }
      this.#failures = 0;
      this.#say(delivery.isDelivered ? 'well' : 'refuses', delivery.result);
      this.#leave(delivery.isDelivered ? 'sent' : 'refused');
    }
    return this.#nextTakeMs;
  }

  /** Ends a turn in progress after the current request. */
  stop(): void {
    this.#isStopping = true;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #take(now: number): Promise<void> {
    const requests = new WriteRequests(now);
    await this.#options.checkMetrics.writeAll(requests);
    requests.end(this.#ofState);
    this.#ofState = requests.ofState;
    this.#waiting.push(...requests.made);
    for (const { body } of requests.made) this.#waitingBytes += body.length;
  }

  #dropOld(now: number): void {
    const mostBytes = this.#options.mostWaitingBytes ?? defaultMostWaitingBytes;
    for (;;) {
      const [oldest] = this.#waiting;
      if (!oldest || (this.#waitingBytes <= mostBytes && now - oldest.takenMs <= oldestMs)) return;
      this.#leave('dropped');
    }
  }

  #leave(outcome: 'sent' | 'refused' | 'dropped'): void {
    const request = this.#waiting.shift();
    if (!request) return;
    this.#waitingBytes -= request.body.length;
    this.#options.metrics.countRemoteWrite(outcome, request.samples);
  }

  #send({ body }: WriteRequest): Promise<Delivery> {
    const url = this.#options.config.REMOTE_WRITE_URL ?? '';
    return this.#http.send(
      { url, method: 'POST', headers: this.#headers, body },
      // A receiver gives the reason in its body, and the operator chose it.
      { areRefusalsPassing: false, read: ({ text }) => ({ reason: text.trim() || undefined }) },
    );
  }

  #say(state: 'well' | 'away' | 'refuses', result: string): void {
    if (state === this.#said) return;
    const { logger } = this.#options;
    this.#said = state;
    if (state === 'well') logger.info('the remote-write receiver accepts samples again');
    else if (state === 'away')
      logger.warn({ result }, 'the remote-write receiver is unavailable; samples wait');
    else logger.warn({ result }, 'the remote-write receiver rejects samples; they are dropped');
  }
}
