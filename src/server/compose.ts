import type { Handlers } from '@picket/platform/feature/feature.ts';
import type { Ground, HandlersOn, Parts, WaitingGround } from '@picket/platform/feature/parts.ts';
import { buildApp } from '@picket/platform/http/app.ts';
import { JobLoop } from '@picket/platform/jobs/job-loop.ts';
import { openStoreOf, type StoreOptions } from '@picket/platform/store/open-store.ts';
import type { RepositoryClass } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyInstance } from 'fastify';
import { allRoutes, features } from './features.ts';

const migrations = features.flatMap((feature) => feature.migrations ?? []);
const repositories: Readonly<Record<string, RepositoryClass>> = Object.assign(
  {},
  ...features.map((feature) => feature.repositories),
);

/** Opens the store with the tables of all features, and migrates its schema to the current version. */
export function openStore(options: StoreOptions): Promise<Store> {
  return openStoreOf(options, { migrations, repositories });
}

/** Creates the server that responds while the database is not reachable yet. */
export function waitingServer(ground: WaitingGround): Promise<FastifyInstance | undefined> | undefined {
  return features.find((feature) => feature.waitingServer)?.waitingServer?.(ground);
}

/** Stores the data that must exist before the service starts. */
export async function prepareStore(ground: Ground): Promise<void> {
  for (const feature of features) await feature.prepare?.(ground);
}

/**
 * Creates the parts of all features.
 *
 * @param given existing parts, which replace those of the features; undefined counts as given.
 * @param closing closes the created parts at the end.
 */
export async function openParts(
  given: Ground & Partial<Parts>,
  closing: AsyncDisposableStack,
): Promise<Parts> {
  const made: Record<string, unknown> = { ...given, routes: allRoutes };
  const parts = made as unknown as Parts;
  made['handlersOn'] = ((store) => handlersOf({ ...parts, store })) satisfies HandlersOn;
  for (const feature of features) {
    for (const [name, make] of Object.entries(feature.parts ?? {})) {
      if (!(name in given)) made[name] = await make(parts, closing);
    }
  }
  for (const feature of features) feature.connect?.(parts);
  return parts;
}

/** The handlers of all operations, by operationId. */
function handlersOf(parts: Parts): Handlers {
  const handlers: Handlers = new Map(features.flatMap((feature) => [...(feature.handlers?.(parts) ?? [])]));
  return features.reduce((inner, { aroundHandlers }) => aroundHandlers?.(inner, parts) ?? inner, handlers);
}

/** Builds the HTTP server with the operations and pages of all features, without listening. */
export async function buildApi(parts: Parts): Promise<FastifyInstance> {
  const { metrics, logger } = parts;
  const handlers = features.reduce(
    (inner, { aroundApi }) => aroundApi?.(inner, parts) ?? inner,
    parts.handlersOn(parts.store),
  );
  const refusals = features.flatMap((feature) => feature.refuses?.(parts) ?? []);
  const app = await buildApp({
    ...parts,
    handlers,
    upgrades: (request) => features.some(({ upgrades }) => upgrades?.(request)),
    refuses: (request) => refusals.map((refuses) => refuses(request)).find((why) => why !== undefined),
    onOddAnswer: ({ route, where }) => {
      metrics.countOddStored('answer', route);
      logger.error({ route, where }, 'a response does not match its schema; it is sent unchanged');
    },
  });
  for (const feature of features) await feature.serve?.(app, parts, handlers);
  return app;
}

/** Background jobs of a process, in the order in which they start; they stop in reverse order. */
export function backgroundJobs(parts: Parts): readonly JobLoop[] {
  return features.flatMap((feature) => feature.jobs?.(parts) ?? []).map((job) => new JobLoop(job, parts));
}
