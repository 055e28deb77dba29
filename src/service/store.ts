import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type pg from 'pg';
import { backoffDelayMs, systemClock } from '../lib/clock.ts';
import { errorCodeOf, toError } from '../lib/errors.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { Logger } from '../lib/log.ts';
import { Accounts } from './accounts/store.ts';
import { AlertCauses } from './alerts/causes/store.ts';
import { AlertChannels } from './alerts/channels/store.ts';
import { AlertNotifications } from './alerts/delivery/store.ts';
import { MonitoringGaps } from './alerts/gaps/store.ts';
import { AlertActions, AlertLinkKeys, Silences } from './alerts/handling/store.ts';
import { Alerts } from './alerts/store.ts';
import { AnalysisEvidence } from './analyses/evidence-store.ts';
import { RootCauseAnalyses } from './analyses/store.ts';
import { AuditLog } from './audit/store.ts';
import { CheckTotals } from './check-metrics/store.ts';
import { CheckGroups } from './checks/groups/store.ts';
import { CheckPlans } from './checks/plans/store.ts';
import { Checks } from './checks/store.ts';
import { LoginSessions } from './console/login/store.ts';
import { Overviews } from './console/overview/store.ts';
import { SlotDays } from './coverage/slot-days.ts';
import { Heartbeats } from './heartbeats/store.ts';
import { StoredAnswers } from './http/idempotency/store.ts';
import { IncidentEvents } from './incidents/event-store.ts';
import { RuleFailures } from './incidents/rules/failure-store.ts';
import { AutomationRules } from './incidents/rules/store.ts';
import { Incidents } from './incidents/store.ts';
import { Retired } from './jobs/retention-store.ts';
import { AgentErrors } from './locations/agents/error-store.ts';
import { LocationEvents } from './locations/event-store.ts';
import { LocationMinutes } from './locations/minute-store.ts';
import { Locations } from './locations/store.ts';
import { SubscriberMails } from './mail/store.ts';
import { Maintenances } from './maintenance/store.ts';
import { Members } from './members/store.ts';
import { StatusPageComponents } from './pages/components/store.ts';
import { DashboardIncidents } from './pages/dashboards/incident-store.ts';
import { Dashboards } from './pages/dashboards/store.ts';
import { ServiceNames } from './pages/domains/name-store.ts';
import { CustomDomains } from './pages/domains/store.ts';
import { Services } from './pages/service-store.ts';
import { StatusPages } from './pages/store.ts';
import { Subscriptions } from './pages/subscription-store.ts';
import { Deployments } from './projects/deployment-store.ts';
import { Projects } from './projects/store.ts';
import { resourceMigrations, resourceRepositories } from './resources/index.ts';
import { Artifacts } from './results/artifacts/store.ts';
import { CodeBundles } from './results/bundles/store.ts';
import { FedResults } from './results/clickhouse/feed-store.ts';
import { ResultColumns } from './results/columns/result-columns.ts';
import { DetailCounts } from './results/details/detail-counts.ts';
import { ErrorGroups } from './results/error-groups/store.ts';
import { Reports } from './results/report-store.ts';
import { Statuses } from './results/status-store.ts';
import { Results } from './results/store.ts';
import { Leases } from './runs/lease-store.ts';
import { Slots } from './runs/slot-store.ts';
import { Runs } from './runs/store.ts';
import { CheckSessions } from './sessions/stored/check-session-store.ts';
import { TestDefinitions } from './sessions/stored/definition-store.ts';
import { TestSessions } from './sessions/stored/test-session-store.ts';
import { Triggers } from './sessions/triggers/store.ts';
import { SloBurns } from './slos/burn-store.ts';
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
import { freeBytesOf, type StorageFigures } from './store/engine/free-space.ts';
import { asOpenError, placeOf } from './store/engine/open-errors.ts';
import { PostgresLink } from './store/engine/postgres.ts';
import type { PostgresHosts } from './store/engine/postgres-hosts.ts';
import type { ReplicaObserver } from './store/engine/replica-pool.ts';
import { allScheduleParts, unheldParts } from './store/engine/schedule-parts.ts';
import { poolSizeThatFits, withoutConnections } from './store/engine/server-room.ts';
import { LocalSignals, type Signals } from './store/engine/signals.ts';
import { WriteWatch } from './store/engine/write-watch.ts';
import type { NatsAccess, NatsRelay } from './store/nats/nats-relay.ts';
import { migrate } from './store/schema/migrate.ts';
import { migrations } from './store/schema/migrations.ts';
import { resealSecrets } from './store/secrets/reseal.ts';
import { SealedColumns } from './store/secrets/sealed-columns.ts';
import { SecretBox } from './store/secrets/secret-box.ts';
import type { Tables } from './tables.ts';

/** What is stored: one repository for each kind of thing. Inside a transaction they act within it. */
export type Repositories = Readonly<ReturnType<typeof repositoriesOf>>;

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
  /** How much waits for the one connection; undefined on PostgreSQL, which has several. */
  readonly turns?: Pick<FairQueue, 'figures'>;
  /** Throws STORE_UNAVAILABLE or STORAGE_FULL when the database does not answer, or stores nothing. */
  ping(): Promise<void>;
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
      guard(() => db.transaction().execute(work));
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

function repositoriesOf(db: Kysely<Tables>, dialect: Dialect) {
  return {
    ...resourceRepositories(db, dialect),
    accounts: new Accounts(db, dialect),
    audit: new AuditLog(db),
    logins: new LoginSessions(db),
    members: new Members(db),
    agentErrors: new AgentErrors(db),
    checks: new Checks(db, dialect),
    checkTotals: new CheckTotals(db, dialect),
    overviews: new Overviews(db, dialect),
    groups: new CheckGroups(db, dialect),
    maintenances: new Maintenances(db),
    locations: new Locations(db, dialect),
    locationEvents: new LocationEvents(db),
    codeBundles: new CodeBundles(db, dialect),
    runs: new Runs(db, dialect),
    slots: new Slots(db, dialect),
    leases: new Leases(db, dialect),
    results: new Results(db, dialect),
    detailCounts: new DetailCounts(db, dialect),
    resultColumns: new ResultColumns(db, dialect),
    resultDays: new ResultDays(db, dialect),
    runDays: new RunDays(db, dialect),
    fedResults: new FedResults(db, dialect),
    slotDays: new SlotDays(db, dialect),
    locationMinutes: new LocationMinutes(db),
    retired: new Retired(db, dialect),
    statuses: new Statuses(db, dialect),
    artifacts: new Artifacts(db, dialect),
    alertChannels: new AlertChannels(db, dialect),
    alerts: new Alerts(db, dialect),
    alertCauses: new AlertCauses(db, dialect),
    notifications: new AlertNotifications(db, dialect),
    silences: new Silences(db, dialect),
    gaps: new MonitoringGaps(db, dialect),
    sloBurns: new SloBurns(db),
    alertActions: new AlertActions(db),
    alertLinkKeys: new AlertLinkKeys(db),
    incidentEvents: new IncidentEvents(db, dialect),
    dashboards: new Dashboards(db, dialect),
    dashboardIncidents: new DashboardIncidents(db, dialect),
    statusPages: new StatusPages(db, dialect),
    customDomains: new CustomDomains(db, dialect),
    serviceNames: new ServiceNames(db),
    components: new StatusPageComponents(db, dialect),
    automationRules: new AutomationRules(db, dialect),
    ruleFailures: new RuleFailures(db, dialect),
    services: new Services(db, dialect),
    incidents: new Incidents(db, dialect),
    subscriptions: new Subscriptions(db, dialect),
    subscriberMails: new SubscriberMails(db, dialect),
    projects: new Projects(db),
    deployments: new Deployments(db, dialect),
    reports: new Reports(db, dialect),
    heartbeats: new Heartbeats(db, dialect),
    errorGroups: new ErrorGroups(db, dialect),
    analyses: new RootCauseAnalyses(db, dialect),
    plans: new CheckPlans(db, dialect),
    analysisEvidence: new AnalysisEvidence(db, dialect),
    checkSessions: new CheckSessions(db, dialect),
    testSessions: new TestSessions(db, dialect),
    testDefinitions: new TestDefinitions(db, dialect),
    triggers: new Triggers(db),
    storedAnswers: new StoredAnswers(db),
  };
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
