import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelayMs, systemClock } from '@picket/lib/clock.ts';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { NatsAccess, NatsRelay } from '@picket/nats/nats-relay.ts';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type pg from 'pg';
import { watchTransaction } from './commits.ts';
import { ResultDays } from './days/result-days.ts';
import { RunDays } from './days/run-days.ts';
import { asStoreError, type Connection, connectSqlite, type Dialect, isConflict } from './engine/dialect.ts';
import { freeBytesOf } from './engine/disk/free-space.ts';
import { asOpenError, placeOf } from './engine/disk/open-errors.ts';
import { WriteWatch } from './engine/disk/write-watch.ts';
import type { PostgresHosts } from './engine/postgres/postgres-hosts.ts';
import type { ReplicaObserver } from './engine/postgres/replica-pool.ts';
import { turnOffJitForRole } from './engine/postgres/without-jit.ts';
import { PostgresLink } from './engine/postgres.ts';
import { allScheduleParts, unheldParts } from './engine/schedule-parts.ts';
import { poolSizeThatFits, withoutConnections } from './engine/server-room.ts';
import { LocalSignals } from './engine/signals.ts';
import { type RepositoryClass, repositoriesOf } from './repositories.ts';
import { migrate } from './schema/migrate.ts';
import { type Migration, migrations } from './schema/migrations.ts';
import { resealSecrets } from './secrets/reseal.ts';
import { SealedColumns } from './secrets/sealed-columns.ts';
import { SecretBox } from './secrets/secret-box.ts';
import type { Store, StorePlace } from './store.ts';
import type { Tables } from './tables.ts';

export interface StoreOptions extends StorePlace {
  readonly logger: Logger;
  /** Maximum number of PostgreSQL connections for requests and jobs. */
  readonly poolSize?: number | undefined;
  /** NATS servers over which processes on PostgreSQL wake each other; absent: the database does that. */
  readonly nats?: NatsAccess | undefined;
  /** Encrypts secrets; absent: they are stored in clear. */
  readonly secrets?: SecretBox | undefined;
}

/** Repositories and migrations of the features. */
export interface StoreContents {
  /** By the name of the repository in the store. */
  readonly repositories: Readonly<Record<string, RepositoryClass>>;
  readonly migrations: readonly Migration[];
}

/** Opens a store for these contents and brings its schema up to date. */
export async function openStoreOf(options: StoreOptions, contents: StoreContents): Promise<Store> {
  const repositoriesOn = repositoriesOf(contents.repositories);
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
      logger.info('stale-tolerant reads go to the replica');
    },
    passedOver(reason) {
      isReplicaUsed = false;
      logger.warn({ reason }, 'the replica is not used at present; reads go to the primary');
    },
  };
  const onFailed = (error: Error) => watch.record(error);
  const connection: Connection =
    databaseUrl === undefined
      ? connectSqlite(
          path,
          (files) =>
            logger.warn({ files }, 'other users can read the database, and its owner is not this user'),
          onFailed,
        )
      : // Its client is loaded on demand: most services use SQLite.
        (await import('./engine/connect-postgres.ts')).connectPostgres({
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
    if (directUrl !== undefined) await turnOffJitForRole(rawDb, logger);
    connection.limitPool?.(await poolSizeThatFits(rawDb, poolSize, logger));
    await migrate(rawDb, dialect, [...migrations, ...contents.migrations]);
    await divideEmptyTables(rawDb, dialect);
    const resealed = await resealSecrets(rawDb, secrets);
    if (resealed > 0) {
      logger.info({ secrets: resealed }, 'encrypted stored secrets with the current key');
      await dialect.forgetDeleted(rawDb);
    }
    if (!(await dialect.allowGivingBack(rawDb))) {
      logger.info(
        'the database is too large to be rewritten at start: free space stays in its file until a restore',
      );
    }
    const sealed = new SealedColumns(secrets);
    const db = rawDb.withPlugin(sealed);
    const repositories = repositoriesOn(db, dialect);
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
        ? repositoriesOn(connection.readers.withPlugin(sealed), dialect)
        : repositories,
      isReplicaUsed: () => isReplicaUsed,
      isNatsConnected: () => relay?.isConnected,
      signals: link ?? new LocalSignals(),
      engine: dialect.name,
      transaction: (work) => transaction((db) => work(repositoriesOn(db, dialect))),
      longTransaction: (work, version) => {
        const { slices } = connection;
        const on = (db: Kysely<Tables>) => repositoriesOn(db.withPlugin(sealed), dialect);
        if (!slices) return transaction((db) => work(repositoriesOn(db, dialect), async () => undefined));
        return guard(() =>
          slices.run({ work: (db, pause) => work(on(db), pause), version: (db) => version(on(db)) }),
        );
      },
      retrying: (work) => guard(() => work(repositories)),
      isLeader: async () => (link ? link.isLeader() : true),
      leaderTransaction: (work) =>
        transaction(async (db) => {
          if (link && !(await link.lockLeadership(db))) return undefined;
          return work(repositoriesOn(db, dialect));
        }),
      scheduleTransaction: async (work) => {
        if (link) await guard(() => link.joinSchedule());
        return transaction(async (db) => {
          const parts = link ? await link.lockParts(db) : allScheduleParts;
          return parts.length === 0 ? undefined : work(repositoriesOn(db, dialect), parts);
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

/** Few deployments use NATS: its client is loaded on demand. */
async function natsRelay(nats: NatsAccess, db: Kysely<Tables>, logger: Logger): Promise<NatsRelay> {
  const [{ NatsRelay }, { subjectOf }] = await Promise.all([
    import('@picket/nats/nats-relay.ts'),
    import('@picket/nats/subject.ts'),
  ]);
  return new NatsRelay({ ...nats, subject: await subjectOf(db), logger });
}

async function readClockMs(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the database did not report its time');
  return row.ms;
}

/** If the table is locked, a job does the same later. */
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
