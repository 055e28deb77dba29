import { Counter, Gauge, type Registry } from 'prom-client';

/** Numbers of ClickHouse for Prometheus. */
export class ClickHouseFigures {
  #fed = 0;
  readonly #failures = { feed: 0, read: 0 };

  /** Counts results that were inserted. */
  countFed(rows: number): void {
    this.#fed += rows;
  }

  /** Counts inserts that failed, or questions that the database answered instead. */
  countFailure(of: 'feed' | 'read'): void {
    this.#failures[of] += 1;
  }

  /** What the database knows. @param levelAt when everything that was sealed had been fed; undefined before there is a feed. */
  registerLag(registers: Registry[], now: number, levelAt: number | undefined): void {
    if (levelAt === undefined) return;
    const lag = new Gauge({
      name: 'picket_clickhouse_feed_lag_seconds',
      help: 'Time since ClickHouse had all results that are sealed for analytics',
      registers,
    });
    lag.set(Math.max(0, now - levelAt) / 1000);
  }

  /** What this process counted. */
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
