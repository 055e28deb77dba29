import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Clock, systemClock } from '../lib/clock.ts';
import { trustCustomCa } from '../lib/custom-ca.ts';
import { errorCodeOf, isStoreFailure, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { bootstrap } from './accounts/accounts.ts';
import { configuredRetention } from './accounts/routes.ts';
import { templateThread } from './alerts/delivery/template-thread.ts';
import type { ArtifactStore } from './artifact-store/artifact-store.ts';
import { openArtifactStore } from './artifact-store/open-store.ts';
import { backgroundJobs } from './background-jobs.ts';
import { CheckMetrics } from './check-metrics/check-metrics.ts';
import { RemoteWrite } from './check-metrics/remote-write/remote-write.ts';
import { openServiceClock } from './clock/service-clock.ts';
import { listOf, modelOf, type ServiceConfig } from './config/config.ts';
import { readStaticIps } from './config/static-ips.ts';
import { buildWaitingRoom } from './console/public/waiting-room.ts';
import { configuredDomainProof } from './custom-domains/configured.ts';
import { endOutage } from './locations/outages.ts';
import { configuredMailServer } from './mail/mail-server.ts';
import { configuredSingleSignOn } from './members/single-sign-on.ts';
import { ServiceMetrics } from './metrics/metrics.ts';
import { openStore } from './open-store.ts';
import { AnalyticsThread } from './results/analytics/analytics-thread.ts';
import { configuredClickHouse } from './results/clickhouse/configured.ts';
import { Ingest, type StoredResult } from './results/ingest.ts';
import { buildApi, handlersOn, type RouteDeps } from './routes.ts';
import { Ledger } from './runs/ledger.ts';
import { lockDataDir } from './store/engine/disk/data-dir.ts';
import { inDirectory } from './store/engine/disk/directory-errors.ts';
import { parseSecretsKey, SecretBox } from './store/secrets/secret-box.ts';
import type { Store, StorePlace } from './store/store.ts';
import { TraceExport } from './traces/trace-export.ts';

export interface ServiceOptions {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  /** Instead of the database's, or the host's without its jumps. */
  readonly clock?: Clock;
  /** Ends the wait for a database that is not there yet. */
  readonly stop?: AbortSignal;
  /** How long a lease lasts unless renewed, in milliseconds. */
  readonly leaseTtlMs?: number;
}

export interface RunningService {
  /** Where the API listens, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly store: Store;
  /** Stops scheduling, answers waiting polls, lets requests in flight finish and closes the store. */
  close(): Promise<void>;
}

const defaultLeaseTtlMs = 15_000;

/** Opens the store a configuration names. */
export async function openConfiguredStore(
  config: ServiceConfig,
  logger: Logger,
  path = storePlace(config).path,
): Promise<Store> {
  const secrets = secretBox(config);
  const { NATS_URL: url, NATS_CREDENTIALS: credentials, DATABASE_POOL_SIZE: poolSize } = config;
  const nats = url === undefined ? undefined : { url, credentials };
  return openStore({ ...storePlace(config), path, logger, secrets, poolSize, nats });
}

function secretBox({ SECRETS_KEY, SECRETS_OLD_KEYS }: ServiceConfig): SecretBox {
  const key = SECRETS_KEY === undefined ? undefined : parseSecretsKey(SECRETS_KEY);
  const oldKeys = listOf(SECRETS_OLD_KEYS ?? '').map(parseSecretsKey);
  return new SecretBox(
    key,
    oldKeys.filter((old) => old !== undefined),
  );
}

function storePlace(config: ServiceConfig): StorePlace {
  const {
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: directUrl,
    DATABASE_REPLICA_URL: replicaUrl,
  } = config;
  return { databaseUrl, directUrl, replicaUrl, path: join(config.DATA_DIR, 'picket.sqlite') };
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/**
 * Opens the store; one on PostgreSQL that cannot be reached yet is waited for.
 *
 * @param onWait is called once, when the waiting begins.
 */
async function openWhenReady(
  config: ServiceConfig,
  logger: Logger,
  { stop, onWait }: { readonly stop: AbortSignal | undefined; readonly onWait: () => Promise<void> },
): Promise<Store> {
  const endMs = systemClock.monotonicMs() + config.DATABASE_WAIT_SECONDS * 1000;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await openConfiguredStore(config, logger);
    } catch (thrown) {
      const leftMs = endMs - systemClock.monotonicMs();
      if (!isStoreFailure(thrown) || config.DATABASE_URL === undefined || leftMs <= 0 || stop?.aborted)
        throw thrown;
      if (pauseMs === firstPauseMs) await onWait();
      logger.warn({ reason: toError(thrown).message }, 'database not reachable yet; trying again');
      await systemClock.sleep(Math.min(pauseMs, leftMs), stop);
    }
  }
}

/** Opens the store; while it is waited for, status pages are answered from their copies. */
async function openWhileWaiting(
  { config, logger, stop }: ServiceOptions,
  artifactStore: ArtifactStore,
): Promise<Store> {
  let room: FastifyInstance | undefined;
  const onWait = async () => {
    if (config.PAGES !== 'on') return;
    room = await buildWaitingRoom({
      ...{ artifactStore, clock: systemClock, logger },
      publicUrl: config.PUBLIC_URL,
      artifactsUrl: config.ARTIFACTS_URL,
      trustedProxies: listOf(config.TRUSTED_PROXIES),
    });
    await listen(room, config);
  };
  try {
    return await openWhenReady(config, logger, { stop, onWait });
  } finally {
    await room?.close();
  }
}

/** Starts the service: store, first account, API and background jobs. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { config, logger, leaseTtlMs = defaultLeaseTtlMs } = options;
  const resources = new AsyncDisposableStack();
  let isReady = true;
  try {
    const dataDir = { variable: 'DATA_DIR', path: config.DATA_DIR } as const;
    const caCertificates = await trustCustomCa(config.CA_CERTS_DIR, logger);
    if (config.DATABASE_URL === undefined) {
      resources.defer(await inDirectory(dataDir, () => lockDataDir(config.DATA_DIR)));
    }
    const artifactStore = await openArtifactStore(config);
    resources.defer(() => artifactStore.close());
    const isEmbedded = config.DATABASE_URL === undefined;
    const opening = () => openWhileWaiting(options, artifactStore);
    const store = isEmbedded ? await inDirectory(dataDir, opening) : await opening();
    resources.defer(() => store.close());
    const ownClock = options.clock ? undefined : await openServiceClock(store, systemClock, logger);
    if (ownClock) resources.defer(() => ownClock.close());
    const clock = options.clock ?? ownClock ?? systemClock;
    await inDirectory(dataDir, () => bootstrap(store, clock, config, logger));

    const metrics = new ServiceMetrics();
    metrics.artifactStore = artifactStore;
    const clickHouse = configuredClickHouse({ config, store, clock, logger, metrics });
    const analytics = new AnalyticsThread(
      { ...storePlace(config), clickHouseUrl: config.ANALYTICS_CLICKHOUSE_URL, caCertificates },
      clickHouse?.onRead,
    );
    resources.defer(() => analytics.close());
    metrics.analytics = analytics;

    const mail = configuredMailServer(config);
    if (mail) resources.defer(() => mail.close());

    const ledger = new Ledger({
      ...{ store, clock, leaseTtlMs },
      onAgentsBack: (location) => endOutage(store, location, clock.wallMs()),
    });
    metrics.queues = [analytics, ledger, templateThread, ...(store.turns ? [store.turns] : [])];
    const traces =
      config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : new TraceExport({ config, store, clock, logger, metrics });
    const checkMetrics = new CheckMetrics({ store, clock });
    const remoteWrite =
      config.REMOTE_WRITE_URL === undefined
        ? undefined
        : new RemoteWrite({ config, checkMetrics, clock, logger, metrics });
    const onStored = traces && ((stored: readonly StoredResult[]) => traces.offer(stored));
    const ingest = new Ingest({
      ...{ store, clock, metrics, onStored },
      everyNthPass: config.DETAIL_OF_EVERY_NTH_PASS,
    });
    const domainProof = configuredDomainProof(config);
    metrics.domainProof = domainProof;
    const deploymentProgress = new Map<string, number>();
    const routeDeps: RouteDeps = {
      store,
      clock,
      ledger,
      ingest,
      artifactStore,
      analytics,
      metrics,
      metricsToken: config.METRICS_TOKEN,
      checkMetrics,
      logger,
      publicUrl: config.PUBLIC_URL,
      artifactsUrl: config.ARTIFACTS_URL,
      hasPages: config.PAGES === 'on',
      mcp: config.MCP,
      hasMailer: mail !== undefined,
      mail,
      singleSignOn: configuredSingleSignOn(config),
      sessionMaxMs: config.SESSION_MAX_HOURS * 3_600_000,
      channelSettings: config,
      retentionDays: configuredRetention(config),
      requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
      codeBundleQuotaBytes: config.CODE_BUNDLE_QUOTA_BYTES,
      trustedProxies: listOf(config.TRUSTED_PROXIES),
      staticIps: {
        v4: readStaticIps(config.STATIC_IPS, '4').byLocation,
        v6: readStaticIps(config.STATIC_IPV6S, '6').byLocation,
      },
      deploymentProgress,
      domainProof,
      isReady: () => isReady,
    };
    const app = await buildApi(routeDeps);
    resources.defer(() => app.close());
    resources.defer(() => ledger.drain());

    const jobs = backgroundJobs({
      ...{ store, clock, logger, artifactStore, metrics, analytics, leaseTtlMs, config, mail, traces },
      ...{ remoteWrite, clickHouseFeed: clickHouse?.feed },
      model: modelOf(config),
      ...{ handlersOn: handlersOn(routeDeps), progress: deploymentProgress, domainProof },
    });
    for (const job of jobs) resources.defer(() => job.stop());

    const address = await listen(app, config);
    for (const job of jobs) job.start();
    resources.defer(() => {
      isReady = false;
    });
    return { address, store, close: () => resources.disposeAsync() };
  } catch (thrown) {
    await resources.disposeAsync();
    throw thrown;
  }
}

/**
 * Connections that the kernel keeps until they are accepted; it takes no more than it is set to (`somaxconn`). Beyond
 * that it drops them without a word, and their callers try again after a second, then two: of Node's default, 511, a
 * rush of one account's agents left nothing for others.
 */
const mostUnaccepted = 65_535;

/** Listens on the configured address; by default on all, IPv4 only where the machine has no IPv6. */
async function listen(app: FastifyInstance, config: ServiceConfig): Promise<string> {
  const place = { port: config.PORT, backlog: mostUnaccepted };
  if (config.HOST !== undefined) return app.listen({ ...place, host: config.HOST });
  try {
    return await app.listen({ ...place, host: '::' });
  } catch (thrown) {
    if (!['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(errorCodeOf(thrown) ?? '')) throw thrown;
    return app.listen({ ...place, host: '0.0.0.0' });
  }
}
