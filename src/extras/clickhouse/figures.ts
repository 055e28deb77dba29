import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of ClickHouse for Prometheus. */
export class ClickHouseFigures {
  #fed = 0;
  readonly #failures = { feed: 0, read: 0 };

  /** Counts inserted results. */
  countFed(rows: number): void {
    this.#fed += rows;
  }

  /** Counts failed inserts, or queries that the database served instead. */
  countFailure(of: 'feed' | 'read'): void {
    this.#failures[of] += 1;
  }

  /**
   * Registers the lag known to the database.
   *
   * @param levelAt when all sealed results were fed; undefined before the first feed.
   */
  registerLag(registers: Registry[], now: number, levelAt: number | undefined): void {
    if (levelAt === undefined) return;
    const lag = new Gauge({
      name: 'picket_clickhouse_feed_lag_seconds',
      help: 'Time since ClickHouse had all results that are sealed for analytics',
      registers,
    });
    lag.set(Math.max(0, now - levelAt) / 1000);
  }

  /** Registers the counters of this process. */
  register(registers: Registry[]): void {
    const fed = new Counter({
      name: 'picket_clickhouse_rows_total',
      help: 'Rows that this process inserted into ClickHouse',
      registers,
    });
    fed.inc(this.#fed);
    const failures = new Counter({
      name: 'picket_clickhouse_failures_total',
      help: 'Requests of this process that ClickHouse failed: feed, or read (the database answered these queries)',
      labelNames: ['of'] as const,
      registers,
    });
    for (const kind of ['feed', 'read'] as const) failures.inc({ of: kind }, this.#failures[kind]);
  }
}
