import { join } from 'node:path';
import { type Clock, systemClock } from '@picket/lib/clock.ts';
import { trustCustomCa } from '@picket/lib/custom-ca.ts';
import { errorCodeOf, isStoreFailure, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { openArtifactStore } from '@picket/platform/artifact-store/open-store.ts';
import { openServiceClock } from '@picket/platform/clock/service-clock.ts';
import { listOf, type ServiceConfig } from '@picket/platform/config/config.ts';
import { lockDataDir } from '@picket/platform/store/engine/disk/data-dir.ts';
import { inDirectory } from '@picket/platform/store/engine/disk/directory-errors.ts';
import { parseSecretsKey, SecretBox } from '@picket/platform/store/secrets/secret-box.ts';
import type { Store, StorePlace } from '@picket/platform/store/store.ts';
import type { FastifyInstance } from 'fastify';
import { backgroundJobs, buildApi, openParts, openStore, prepareStore, waitingServer } from './compose.ts';

export interface ServiceOptions {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  /** Replaces the default clock: the database's, or the host's without its jumps. */
  readonly clock?: Clock;
  /** Aborts the wait for a database that is not reachable yet. */
  readonly stop?: AbortSignal;
  /** Duration of a lease without renewal, in milliseconds. */
  readonly leaseTtlMs?: number;
}

export interface RunningService {
  /** Address of the API, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly store: Store;
  /** Stops scheduling, answers waiting polls, lets requests in flight finish and closes the store. */
  close(): Promise<void>;
}

const defaultLeaseTtlMs = 15_000;

/** Opens the store that a configuration names. */
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
 * Opens the store; waits for a PostgreSQL database that is not reachable yet.
 *
 * @param onWait called once, when the wait begins.
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

/** Opens the store; during the wait, serves status pages from their copies. */
async function openWhileWaiting(
  { config, logger, stop }: ServiceOptions,
  artifactStore: ArtifactStore,
): Promise<Store> {
  let server: FastifyInstance | undefined;
  const onWait = async () => {
    server = await waitingServer({ config, artifactStore, clock: systemClock, logger });
    if (server) await listen(server, config);
  };
  try {
    return await openWhenReady(config, logger, { stop, onWait });
  } finally {
    await server?.close();
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
    const ground = {
      ...{ store, storePlace: storePlace(config), clock, logger, config, artifactStore },
      ...{ caCertificates, leaseTtlMs, isReady: () => isReady },
    };
    await inDirectory(dataDir, () => prepareStore(ground));
    const parts = await openParts(ground, resources);
    const app = await buildApi(parts);
    resources.defer(() => app.close());
    const jobs = backgroundJobs(parts);
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
 * Length of the accept queue; the kernel limits it to `somaxconn`. The kernel silently drops connections beyond it, and
 * their clients retry after one second, then two: with Node's default, 511, a burst of one account's agents left no
 * room for others.
 */
const mostUnaccepted = 65_535;

/** Listens on the configured address; by default on all addresses, IPv4 only if the machine has no IPv6. */
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
