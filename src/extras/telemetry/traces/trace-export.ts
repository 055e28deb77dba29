import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { StoredResult } from '@picket/service/results/ingest.ts';
import { Collector, type CollectorSettings } from './collector.ts';
import type { OtlpBatch } from './otlp-binary.ts';
import { spansOf } from './run-spans.ts';

/** Maximum number of waiting runs; further ones are dropped and counted. */
const mostWaiting = 4_096;
const runsPerRequest = 256;
const pauseMs = 1_000;
const retryMs = 5_000;

export interface TraceExportOptions {
  readonly config: CollectorSettings & Pick<ServiceConfig, 'OTEL_SERVICE_NAME'>;
  readonly store: Pick<Store, 'checks'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { countTraces(outcome: 'sent' | 'refused' | 'dropped', count: number): void };
}

/**
 * Sends a trace of each run, and a log record of each failure, to a collector over OTLP. Results are stored first, in a
 * transaction that does not depend on this. Waiting runs are in memory and limited, so an unavailable collector costs
 * only traces.
 */
export class TraceExport {
  readonly #options: TraceExportOptions;
  readonly #collector: Collector;
  readonly #waiting: StoredResult[] = [];
  /** Signals that the collector did not accept last time. */
  readonly #failing = new Set<string>();

  constructor(options: TraceExportOptions) {
    this.#options = options;
    this.#collector = new Collector(options.config);
  }

  /** Adds runs that ended; those of test sessions are left out, because they are not monitoring. */
  offer(stored: readonly StoredResult[]): void {
    const runs = stored.filter(({ run }) => run.test_session_id === null);
    const room = Math.max(0, mostWaiting - this.#waiting.length);
    this.#waiting.push(...runs.slice(0, room));
    if (runs.length > room) this.#options.metrics.countTraces('dropped', runs.length - room);
  }

  /** Sends waiting runs; returns when to continue. */
  async turn(): Promise<number> {
    const { clock, metrics } = this.#options;
    while (this.#waiting.length > 0) {
      const runs = this.#waiting.splice(0, runsPerRequest);
      const outcome = await this.#send(runs);
      if (outcome === 'later') {
        this.#waiting.unshift(...runs);
        const excess = this.#waiting.length - mostWaiting;
        if (excess > 0) {
          this.#waiting.length = mostWaiting;
          metrics.countTraces('dropped', excess);
        }
        return clock.wallMs() + retryMs;
      }
      metrics.countTraces(outcome, runs.length);
    }
    return clock.wallMs() + pauseMs;
  }

  /** Sends waiting runs once more, and closes the connections. */
  async close(): Promise<void> {
    await this.turn();
    await this.#collector.close();
  }

  async #send(runs: readonly StoredResult[]): Promise<'sent' | 'refused' | 'later'> {
    const checks = await this.#options.store.checks.findMany(runs.map(({ row }) => row.check_id));
    const made = runs.map((run) => spansOf(run, checks.get(run.row.check_id)?.name ?? run.row.check_id));
    const spans = made.flatMap((one) => one.spans);
    const logs = made.flatMap(({ log }) => (log ? [log] : []));
    const outcome = await this.#deliver({ signal: 'traces', spans });
    if (outcome !== 'sent' || logs.length === 0) return outcome;
    // A collector without logs refuses them: only its traces count.
    await this.#deliver({ signal: 'logs', records: logs });
    return outcome;
  }

  async #deliver(items: OtlpBatch['items']): Promise<'sent' | 'refused' | 'later'> {
    const { config, logger } = this.#options;
    const { signal } = items;
    const version = packageVersion();
    const resource = [
      { key: 'service.name', value: { stringValue: config.OTEL_SERVICE_NAME } },
      { key: 'service.version', value: { stringValue: version } },
    ];
    const delivery = await this.#collector.send({ resource, scope: { name: 'picket', version }, items });
    const isNews = delivery.isDelivered === this.#failing.has(signal);
    if (delivery.isDelivered) this.#failing.delete(signal);
    else this.#failing.add(signal);
    const { result } = delivery;
    if (isNews && delivery.isDelivered)
      logger.info({ signal }, 'the OpenTelemetry collector accepts data again');
    else if (isNews) logger.warn({ signal, result }, 'the OpenTelemetry collector rejects data');
    if (delivery.isDelivered) return 'sent';
    return delivery.isRetryable ? 'later' : 'refused';
  }
}
