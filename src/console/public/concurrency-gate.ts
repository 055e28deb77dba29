import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { endConnectionsOnClose } from '@picket/platform/http/connections/closing.ts';
import { publicPageRoutes } from '@picket/protocol/pages/public-page.ts';
import { DomainProof } from '@picket/service/custom-domains/domain-proof.ts';
import { PublicCopies } from '@picket/service/pages/public-copies.ts';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { readAssets, serveAssets } from '../assets.ts';
import { CustomDomainHosts } from './custom-domain/hosts.ts';
import { addCustomDomains, copiedHosts, markPages } from './custom-domain/routes.ts';
import { addStatusPages } from './routes.ts';
import { StatusPageSource } from './status-source.ts';

export interface ConcurrencyGateDeps {
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publicUrl?: string | undefined;
  readonly artifactsUrl?: string | undefined;
  readonly trustedProxies: readonly string[];
}

/** Builds the server of a service that waits for its database: status pages from their copies, and 503 otherwise. */
export async function buildConcurrencyGate(deps: ConcurrencyGateDeps): Promise<FastifyInstance> {
  const { logger, artifactStore, clock, publicUrl, artifactsUrl, trustedProxies } = deps;
  const app = Fastify({
    loggerInstance: logger.child({}, { level: 'silent' }) as FastifyBaseLogger,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
  });
  endConnectionsOnClose(app);
  const assets = readAssets();
  const copies = new PublicCopies(artifactStore);
  const away = async (): Promise<never> => {
    throw new AppError('STORE_UNAVAILABLE', 'The service is waiting for its database.');
  };
  const source = new StatusPageSource({
    ...{ assets, clock, publicUrl, copies, logger },
    handlers: new Map([[publicPageRoutes.getStatusPageData.operationId, away]]),
    takesSubscriptions: false,
    limits: undefined,
  });
  const recall = async () => copiedHosts(await copies.list());
  addCustomDomains(app, {
    hosts: new CustomDomainHosts({
      clock,
      logger,
      proof: new DomainProof({ publicUrl, artifactsUrl }),
      load: away,
      recall,
    }),
    source,
    assets,
  });
  await app.register(async (open) => {
    markPages(open);
    serveAssets(open, assets);
    // On a custom domain, the page is at the root.
    open.get('/', async (_request, reply) => reply.callNotFound());
    addStatusPages(open, { assets, source });
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(503).header('retry-after', '5').send({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'The service is waiting for its database.',
    }),
  );
  return app;
}
