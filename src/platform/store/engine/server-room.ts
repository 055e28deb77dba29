import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelayMs } from '@picket/lib/clock.ts';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import type { Tables } from '../tables.ts';
import { isAboutRoom } from './foreign-texts.ts';
import type { PostgresHosts } from './postgres/postgres-hosts.ts';

/** Connections of a process to PostgreSQL besides its pool: for signals, and for analytics. */
export const connectionsBesidesPool = 2;
const defaultPoolSize = 10;
/** A transaction that holds one connection may need a second one. */
const smallestPool = 2;
/** How long a request waits for a connection that the server refuses. */
const waitMs = 5_000;
/** Delay after a refused connection before a pool tries to grow again. */
const growAgainMs = 30_000;

/** Remedy for a request that got no connection. */
export const noRoomLeft =
  'PostgreSQL has no connection left for this. Raise max_connections, or lower DATABASE_POOL_SIZE. Try again.';

/** Whether a server or a pooler refuses a further connection. */
export function hasNoRoom(error: Error): boolean {
  return errorCodeOf(error) === '53300' || isAboutRoom(error.message);
}

/**
 * Hands out connections of a pool. When the server refuses a new one, the pool keeps its size for a while, and requests
 * wait for an existing connection; an empty pool waits until the server accepts one.
 */
export class PatientPool {
  readonly #pool: pg.Pool;
  readonly #hosts: PostgresHosts;
  #most: number;
  #refusedAtMs = Number.NEGATIVE_INFINITY;

  constructor(pool: pg.Pool, hosts: PostgresHosts) {
    this.#pool = pool;
    this.#hosts = hosts;
    this.#most = pool.options.max;
  }

  /** Limits the number of connections from now on. */
  limit(size: number): void {
    this.#most = size;
    this.#pool.options.max = size;
  }

  async connect(): Promise<pg.PoolClient> {
    const deadlineMs = performance.now() + waitMs;
    if (performance.now() - this.#refusedAtMs > growAgainMs) this.#pool.options.max = this.#most;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#hosts.tryEach(() => this.#pool.connect());
      } catch (thrown) {
        if (!hasNoRoom(toError(thrown)) || performance.now() > deadlineMs) throw thrown;
        this.#refusedAtMs = performance.now();
        this.#pool.options.max = Math.max(1, this.#pool.totalCount);
        await sleep(backoffDelayMs(tries, { baseMs: 20, capMs: 500 }));
      }
    }
  }
}

/** Returns the maximum number of connections that the server grants this service. */
async function mostConnections(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ most: number }>`
    select least(
      current_setting('max_connections')::integer - case when rolsuper then 0 else
        current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true)::integer, 0) end,
      nullif(rolconnlimit, -1), nullif(datconnlimit, -1))::integer as most
    from pg_roles, pg_database where rolname = current_user and datname = current_database()`.execute(db);
  return rows[0]?.most ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns the largest pool size that leaves room for the other connections of the process.
 *
 * @throws AppError CONFIG_INVALID if the server cannot grant what one process needs.
 */
export async function poolSizeThatFits(
  db: Kysely<Tables>,
  wanted = defaultPoolSize,
  logger: Pick<Logger, 'warn'>,
): Promise<number> {
  const most = await mostConnections(db);
  const room = most - connectionsBesidesPool;
  if (wanted <= room) return wanted;
  if (room < smallestPool) {
    throw new AppError(
      'CONFIG_INVALID',
      `DATABASE_URL: PostgreSQL gives this user ${most} connections at most, and a service process needs ` +
        `${smallestPool + connectionsBesidesPool}. Raise max_connections, or the limit of the user or the database.`,
    );
  }
  logger.warn(
    { DATABASE_POOL_SIZE: wanted, poolSize: room, mostConnections: most },
    'PostgreSQL gives fewer connections than DATABASE_POOL_SIZE and two more: the pool is smaller. Raise max_connections, or lower DATABASE_POOL_SIZE',
  );
  return room;
}

/** Remedy for a store that does not open for lack of connections. */
export function withoutConnections(error: Error, poolSize = defaultPoolSize): AppError | undefined {
  if (!hasNoRoom(error)) return undefined;
  const needed = poolSize + connectionsBesidesPool;
  return new AppError(
    'CONFIG_INVALID',
    `DATABASE_URL: PostgreSQL has no connection left (${error.message}). A service process needs up to ${needed}: ` +
      'DATABASE_POOL_SIZE and two more. Raise max_connections, or lower DATABASE_POOL_SIZE.',
    { cause: error },
  );
}
