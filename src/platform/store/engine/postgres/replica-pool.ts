import { toError } from '@picket/lib/errors.ts';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** A replica with a larger lag is not used: its readers would miss their recent results. */
const longestLagMs = 5_000;
/** Lifetime of a measured replica state. */
const lookEveryMs = 1_000;
/** How long an unavailable or lagging replica is not used. */
const awayMs = 15_000;

/**
 * Lag of a replica. Without writes it would seem to grow constantly, but the service's processes write every two
 * seconds. 0 if the server is not a replica (any longer).
 */
const lag = `select case when pg_is_in_recovery()
  then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000, 1e12)
  else 0 end::double precision as ms`;

/** Notified when reads switch between the replica and the primary. */
export interface ReplicaObserver {
  used(): void;
  passedOver(reason: string): void;
}

/**
 * Connections for slightly outdated reads: to a streaming replica if it is available and current, else to the primary.
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

  /** Closes the replica only; the primary pool has another owner. */
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
