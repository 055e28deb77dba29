import { toError } from '@picket/lib/errors.ts';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { recordStatement } from '../commits.ts';
import type { Tables } from '../tables.ts';
import { type Connection, postgresSql } from './dialect.ts';
import { PooledPostgresDialect } from './pooled-driver.ts';
import { inTurns, poolTurns } from './postgres/pool-turns.ts';
import { PostgresHosts } from './postgres/postgres-hosts.ts';
import { type ReplicaObserver, ReplicaPool } from './postgres/replica-pool.ts';
import { applicationName } from './queries.ts';
import { PatientPool } from './server-room.ts';

/** How long a reader waits for the replica before it reads from the primary. */
const replicaWaitMs = 1_000;
const bigintOid = 20;
const jsonOid = 114;
const numericOid = 1700;
const parsers = new Map<number, (text: string) => unknown>([
  [bigintOid, Number],
  [numericOid, Number],
  [jsonOid, (text) => text],
]);

const serverTimeouts = {
  statement_timeout: 30_000,
  // A process that stops in the middle of a transaction must not keep its locks.
  idle_in_transaction_session_timeout: 10_000,
} as const;

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** Address of the database itself, if `databaseUrl` is a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  /** A replica for reads that may be some seconds old. */
  readonly replica?: { readonly url: string; readonly observer: ReplicaObserver } | undefined;
  /** Called for idle connections that broke. */
  readonly onPoolError: (error: Error) => void;
  /** Called for statements that failed. */
  readonly onFailed?: (error: Error) => void;
  readonly maxConnections?: number | undefined;
  /** Called for each connection about to be used. */
  readonly onAcquired?: ((client: pg.PoolClient) => void) | undefined;
}

/** Opens a pool of connections to PostgreSQL. */
export function connectPostgres(options: PostgresOptions): Connection {
  const { databaseUrl, directUrl, replica, onPoolError, onFailed, maxConnections = 10 } = options;
  const clientConfig: pg.ClientConfig = {
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    application_name: applicationName,
    types: {
      getTypeParser: (oid: number, format?: string) =>
        parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
    } as unknown as pg.CustomTypesConfig,
  };
  const isPooled = directUrl !== undefined;
  const openPool = (servers: PostgresHosts, config = clientConfig): pg.Pool => {
    const pool = new pg.Pool({
      ...config,
      ...(isPooled ? {} : serverTimeouts),
      Client: servers.clientClass(),
      max: maxConnections,
      // Analytics keeps its single connection: a full server would not grant another.
      ...(maxConnections === 1 ? { idleTimeoutMillis: 0 } : {}),
      // Later than the server's: after the server's timeout, the connection can roll back and continue.
      query_timeout: 35_000,
    });
    pool.on('error', onPoolError);
    if (options.onAcquired) pool.on('acquire', options.onAcquired);
    // The pool handles errors of idle connections only. A broken connection in use fails its query; without this
    // listener its error event would end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  };
  const hosts = new PostgresHosts(databaseUrl, clientConfig, !isPooled);
  const pool = openPool(hosts);
  const patient = new PatientPool(pool, hosts);
  const turns = poolTurns(maxConnections);
  const trying = inTurns(turns, {
    connect: () => patient.connect(),
    end: () => pool.end(),
    options: pool.options,
  });
  const limitPool = (size: number) => {
    patient.limit(size);
    turns.resize(size);
  };
  const readerConfig = { ...clientConfig, connectionTimeoutMillis: replicaWaitMs };
  const readers =
    replica &&
    new ReplicaPool(
      openPool(new PostgresHosts(replica.url, readerConfig, !isPooled), readerConfig),
      trying,
      replica.observer,
    );
  return {
    db: new Kysely<Tables>({
      dialect: isPooled
        ? new PooledPostgresDialect({ pool: trying }, serverTimeouts)
        : new PostgresDialect({ pool: trying }),
      log: (event) => {
        const isFailed = event.level === 'error';
        recordStatement(event.query.sql, isFailed ? event.error : undefined);
        if (isFailed) onFailed?.(toError(event.error));
      },
    }),
    ...(readers ? { readers: new Kysely<Tables>({ dialect: new PostgresDialect({ pool: readers }) }) } : {}),
    dialect: postgresSql,
    // A pooler has its own limits, which no query reveals.
    ...(isPooled ? {} : { limitPool }),
    turns,
    hosts: isPooled ? new PostgresHosts(directUrl, clientConfig) : hosts,
  };
}
