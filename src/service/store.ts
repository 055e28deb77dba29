import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type pg from 'pg';
import { backoffDelayMs, systemClock } from '../lib/clock.ts';
import { AppError, errorCodeOf, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { FairQueue } from '../lib/turns/fair-queue.ts';
import { type Repositories, repositoriesOf } from './repositories.ts';
import { resourceMigrations } from './resources/index.ts';
import { watchTransaction } from './store/commits.ts';
import { ResultDays } from './store/days/result-days.ts';
import { RunDays } from './store/days/run-days.ts';
import { connectPostgres } from './store/engine/connect-postgres.ts';
import {
  asStoreError,
  type Connection,
  connectSqlite,
  type Dialect,
  isConflict,
} from './store/engine/dialect.ts';
import { freeBytesOf, type StorageFigures } from './store/engine/disk/free-space.ts';
import { asOpenError, placeOf } from './store/engine/disk/open-errors.ts';
import { WriteWatch } from './store/engine/disk/write-watch.ts';
import type { PostgresHosts } from './store/engine/postgres/postgres-hosts.ts';
import type { ReplicaObserver } from './store/engine/postgres/replica-pool.ts';
import { PostgresLink } from './store/engine/postgres.ts';
import { allScheduleParts, unheldParts } from './store/engine/schedule-parts.ts';
import { poolSizeThatFits, withoutConnections } from './store/engine/server-room.ts';
import { LocalSignals, type Signals } from './store/engine/signals.ts';
import type { NatsAccess, NatsRelay } from './store/nats/nats-relay.ts';
import { migrate } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';
import { resealSecrets } from './store/secrets/reseal.ts';
import { SealedColumns } from './store/secrets/sealed-columns.ts';
import { SecretBox } from './store/secrets/secret-box.ts';
import type { Tables } from './tables.ts';

/** What is stored: one repository for each kind of thing. Inside a transaction they act within it. */

export interface Store extends Repositories {
  readonly signals: Signals;
  /** Which engine it is, for logs and diagnosis. */
  readonly engine: Dialect['name'];
  /**
   * All or nothing. The callback awaits nothing but calls of the repositories it is given: on SQLite every
   * other query of the process waits for it. It may be called again: a transaction that was rolled back in
   * favour of another one is tried a few times before it counts as STORE_UNAVAILABLE.
   */
  transaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /**
   * The same for work that takes long: on SQLite others read and write while it pauses, and see nothing of it before
   * its end. It begins anew when what it changes, or `version`, has changed in a pause, so it may be called again.
   */
  longTransaction<T>(
    work: (repositories: Repositories, pause: () => Promise<void>) => Promise<T>,
    version: (repositories: Repositories) => Promise<unknown>,
  ): Promise<T>;
  /** One statement, tried again as transactions are where it lost to another one. */
  retrying<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /** Whether this process is the one that does what only one may. One of several on PostgreSQL; always true on SQLite. */
  isLeader(): Promise<boolean>;
  /**
   * A transaction in which nobody else is the leader: undefined, and nothing done, when this process is not
   * any more. For what only the leader may write, however long it was stopped since it asked.
   */
  leaderTransaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T | undefined>;
  /**
   * A transaction in which nobody else schedules the checks of some parts: undefined, and nothing done, when
   * this process has none. On SQLite it has all. The first one makes this process one of those that share the
   * schedule, until it leaves.
   */
  scheduleTransaction<T>(
    work: (repositories: Repositories, parts: readonly number[]) => Promise<T>,
  ): Promise<T | undefined>;
  /** Gives the parts of the schedule to the other processes; this one starts no such transaction any more. */
  leaveSchedule(): Promise<void>;
  /** For reads that may be some seconds old: of a replica while there is one and it keeps up. */
  readonly readers: Repositories;
  /** Whether `readers` are those of a replica now; undefined where none is configured. */
  isReplicaUsed(): boolean | undefined;
  /** Whether signals go over NATS now; undefined where none is configured. */
  isNatsConnected(): boolean | undefined;
  /** How many parts of the schedule no living process has. */
  unheldScheduleParts(): Promise<number>;
  /** How much waits for a connection to the database. */
  readonly turns?: Pick<FairQueue, 'figures'>;
  /** Throws STORE_UNAVAILABLE or STORAGE_FULL when the database does not answer, or stores nothing. */
  ping(): Promise<void>;
  /** Why nothing can be stored at the moment, found out by writing; undefined when it can. */
  writeProblem(): Promise<AppError | undefined>;
  /** What this process knows of the disk its database is on. */
  storage(): Promise<StorageFigures>;
  /** The time by the database's own clock, in epoch milliseconds. Absent on SQLite, which has none. */
  readonly readClockMs?: () => Promise<number>;
  /**
   * A connection besides the pool's, whose statements may take as long as they do. Absent on SQLite, which has one
   * for all.
   */
  readonly withOwnConnection?: <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>;
  close(): Promise<void>;
}

/** Where the data are. */
export interface StorePlace {
  /** PostgreSQL when given. */
  readonly databaseUrl?: string | undefined;
  /** The database itself, where a pooler in transaction mode is at `databaseUrl`. */
  readonly directUrl?: string | undefined;
  /** A streaming replica of it. */
  readonly replicaUrl?: string | undefined;
  /** Path of the SQLite database when there is no databaseUrl. */
  readonly path: string;
}

export interface StoreOptions extends StorePlace {
  readonly logger: Logger;
  /** Most connections to PostgreSQL for requests and jobs. */
  readonly poolSize?: number | undefined;
  /** Over which processes on PostgreSQL wake each other; absent: the database does that. */
  readonly nats?: NatsAccess | undefined;
  /** What secrets are sealed with; absent: they are stored in clear. */
  readonly secrets?: SecretBox | undefined;
}

/** Opens the store and brings its schema up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const {
    databaseUrl,
    directUrl,
    replicaUrl,
    path,
    logger,
    poolSize,
    nats,
    secrets = new SecretBox(undefined),
  } = options;
  const resources = new AsyncDisposableStack();
  let isReplicaUsed = replicaUrl === undefined ? undefined : false;
  const observer: ReplicaObserver = {
    used() {
      isReplicaUsed = true;
      logger.info('reads that may be some seconds old go to the replica');
    },
    passedOver(reason) {
      isReplicaUsed = false;
      logger.warn({ reason }, 'the replica is passed over; its reads go to the database itself');
    },
  };
  const onFailed = (error: Error) => watch.note(error);
  const connection: Connection =
    databaseUrl === undefined
      ? connectSqlite(
          path,
          (files) =>
            logger.warn({ files }, 'other users can read the database, and its owner is not this user'),
          onFailed,
        )
      : connectPostgres({
          databaseUrl,
          directUrl,
          replica: replicaUrl === undefined ? undefined : { url: replicaUrl, observer },
          onPoolError: (error) => logger.warn({ reason: error.message }, 'database connection lost'),
          onFailed,
          maxConnections: poolSize,
        });
  const { db: rawDb, dialect, hosts } = connection;
  const directory = databaseUrl === undefined && path !== ':memory:' ? dirname(path) : undefined;
  const watch = new WriteWatch(rawDb, systemClock, directory);
  resources.defer(() => rawDb.destroy());
  resources.defer(async () => connection.readers?.destroy());
  try {
    connection.limitPool?.(await poolSizeThatFits(rawDb, poolSize, logger));
    await migrate(rawDb, dialect, [...migrations, ...resourceMigrations]);
    await divideEmptyTables(rawDb, dialect);
    const resealed = await resealSecrets(rawDb, secrets);
    if (resealed > 0) {
      logger.info({ secrets: resealed }, 'encrypted stored secrets with the present key');
      await dialect.forgetDeleted(rawDb);
    }
    if (!(await dialect.allowGivingBack(rawDb))) {
      logger.info(
        'the database is too large to be rewritten at start: free space stays in its file until a restore',
      );
    }
    const sealed = new SealedColumns(secrets);
    const db = rawDb.withPlugin(sealed);
    const repositories = repositoriesOf(db, dialect);
    const relay = hosts && nats ? await natsRelay(nats, db, logger) : undefined;
    const link = hosts && new PostgresLink({ hosts, db, logger, place: placeOf(databaseUrl, path), relay });
    if (link) {
      await link.open();
      resources.defer(() => link.close());
      await relay?.open(link);
      resources.defer(async () => relay?.close());
    }
    const transaction = <T>(work: (transaction: Kysely<Tables>) => Promise<T>) =>
      guard(() =>
        watchTransaction((finished) =>
          db.transaction().execute(async (begun) => {
            const result = await work(begun);
            finished();
            return result;
          }),
        ),
      );
    return {
      ...repositories,
      readers: connection.readers
        ? repositoriesOf(connection.readers.withPlugin(sealed), dialect)
        : repositories,
      isReplicaUsed: () => isReplicaUsed,
      isNatsConnected: () => relay?.isConnected,
      signals: link ?? new LocalSignals(),
      engine: dialect.name,
      transaction: (work) => transaction((db) => work(repositoriesOf(db, dialect))),
      longTransaction: (work, version) => {
        const { slices } = connection;
        const on = (db: Kysely<Tables>) => repositoriesOf(db.withPlugin(sealed), dialect);
        if (!slices) return transaction((db) => work(repositoriesOf(db, dialect), async () => undefined));
        return guard(() =>
          slices.run({ work: (db, pause) => work(on(db), pause), version: (db) => version(on(db)) }),
        );
      },
      retrying: (work) => guard(() => work(repositories)),
      isLeader: async () => (link ? link.isLeader() : true),
      leaderTransaction: (work) =>
        transaction(async (db) => {
          if (link && !(await link.lockLeadership(db))) return undefined;
          return work(repositoriesOf(db, dialect));
        }),
      scheduleTransaction: async (work) => {
        if (link) await guard(() => link.joinSchedule());
        return transaction(async (db) => {
          const parts = link ? await link.lockParts(db) : allScheduleParts;
          return parts.length === 0 ? undefined : work(repositoriesOf(db, dialect), parts);
        });
      },
      leaveSchedule: async () => link?.leaveSchedule(),
      unheldScheduleParts: () => guard(async () => (link ? unheldParts(db) : 0)),
      ping: () =>
        guard(async () => {
          await dialect.ping(db);
          await watch.check();
        }),
      writeProblem: async () => {
        try {
          await guard(() => watch.check());
          return undefined;
        } catch (thrown) {
          if (thrown instanceof AppError) return thrown;
          throw thrown;
        }
      },
      storage: async () => ({
        refusedWrites: watch.refused,
        freeBytes: directory === undefined ? undefined : await freeBytesOf(directory),
      }),
      ...(connection.turns ? { turns: connection.turns } : {}),
      ...(link ? { readClockMs: () => readClockMs(db) } : {}),
      ...(hosts ? { withOwnConnection: (work) => withOwnConnection(hosts, work) } : {}),
      close: () => resources.disposeAsync(),
    };
  } catch (thrown) {
    await resources.disposeAsync();
    throw (
      withoutConnections(toError(thrown), poolSize) ??
      asOpenError(toError(thrown), placeOf(databaseUrl, path))
    );
  }
}

/** Few use it: its client is loaded where it is. */
async function natsRelay(nats: NatsAccess, db: Kysely<Tables>, logger: Logger): Promise<NatsRelay> {
  const [{ NatsRelay }, { subjectOf }] = await Promise.all([
    import('./store/nats/nats-relay.ts'),
    import('./store/nats/subject.ts'),
  ]);
  return new NatsRelay({ ...nats, subject: await subjectOf(db), logger });
}

async function readClockMs(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the database did not say what time it is');
  return row.ms;
}

/** Where others hold the table, a job does the same later. */
async function divideEmptyTables(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  try {
    await db.transaction().execute(async (transaction) => {
      await dialect.lockSchema(transaction);
      for (const Days of [ResultDays, RunDays]) await new Days(transaction, dialect).divideEmpty(Date.now());
    });
  } catch (thrown) {
    if (errorCodeOf(thrown) !== '55P03') throw thrown;
  }
}

async function withOwnConnection<T>(
  hosts: PostgresHosts,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await hosts.connect({}, (made) => made.on('error', () => undefined));
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const maxTries = 5;

async function guard<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (!isConflict(thrown) || tries === maxTries) throw asStoreError(toError(thrown));
      await sleep(backoffDelayMs(tries, { baseMs: 5, capMs: 200 }));
    }
  }
}
