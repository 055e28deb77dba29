import { toError } from '@picket/lib/errors.ts';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** A copy that is further behind is as good as none: its readers would wonder where their results are. */
const longestLagMs = 5_000;
/** How long what was found out of the copy counts. */
const lookEveryMs = 1_000;
/** How long a copy that is away, or behind, is left alone. */
const awayMs = 15_000;

/**
 * How far a copy is behind. Where nothing is written it seems to fall behind all the time; but the service's
 * processes write every two seconds. Of a server that is no copy, or none any more, it is nothing.
 */
const lag = `select case when pg_is_in_recovery()
  then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000, 1e12)
  else 0 end::double precision as ms`;

/** Hears of changes between the copy and the database itself. */
export interface ReplicaObserver {
  used(): void;
  passedOver(reason: string): void;
}

/**
 * Connections for reads that may be some seconds old: to a copy of the database (a streaming replica) while it is there
 * and keeps up, else to the database itself.
 */
export class ReplicaPool implements PostgresPool {
  readonly #replica: pg.Pool;
  readonly #primary: PostgresPool;
  readonly #observer: ReplicaObserver;
  #isUsed: boolean | undefined;
  #goodUntilMs = 0;
  #awayUntilMs = 0;

  constructor(replica: pg.Pool, primary: PostgresPool, observer: ReplicaObserver) {
    this.#replica = replica;
    this.#primary = primary;
    this.#observer = observer;
  }

  get options(): PostgresPool['options'] {
    return this.#primary.options;
  }

  async connect(): ReturnType<PostgresPool['connect']> {
    if (performance.now() < this.#awayUntilMs) return this.#primary.connect();
    try {
      const client = await this.#replica.connect();
      if (performance.now() < this.#goodUntilMs || (await this.#keepsUp(client))) return client;
    } catch (thrown) {
      this.#passOver(toError(thrown).message);
    }
    return this.#primary.connect();
  }

  /** The database itself is closed by others. */
  async end(): Promise<void> {
    await this.#replica.end();
  }

  async #keepsUp(client: pg.PoolClient): Promise<boolean> {
    let lagMs: number;
    try {
      const { rows } = await client.query<{ ms: number }>(lag);
      lagMs = rows[0]?.ms ?? Number.POSITIVE_INFINITY;
    } catch (thrown) {
      client.release(true);
      throw thrown;
    }
    if (lagMs > longestLagMs) {
      client.release();
      this.#passOver(`it is more than ${longestLagMs / 1000} s behind`);
      return false;
    }
    this.#goodUntilMs = performance.now() + lookEveryMs;
    if (this.#isUsed !== true) this.#observer.used();
    this.#isUsed = true;
    return true;
  }

  #passOver(reason: string): void {
    this.#awayUntilMs = performance.now() + awayMs;
    this.#goodUntilMs = 0;
    if (this.#isUsed !== false) this.#observer.passedOver(reason);
    this.#isUsed = false;
  }
}
