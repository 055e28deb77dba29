import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { bearerKey, findAccount } from './http/auth.ts';
import { hashKey } from './ids/keys.ts';
import type { ServiceMetrics } from './metrics.ts';
import type { Store } from './store.ts';

export interface MetricsRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
  /** Bearer token that sees every account; none when absent. */
  readonly metricsToken?: string | undefined;
}

/**
 * `GET /metrics`, next to the operators' probes: it belongs to the process, not to the API. The metrics token
 * sees all accounts, an API key of any role its own.
 *
 * @throws AppError BAD_TOKEN or FOREIGN_ACCOUNT.
 */
export function addMetricsRoute(app: FastifyInstance, deps: MetricsRouteDeps): void {
  app.get('/metrics', async (request, reply) => {
    const isOperator = isSame(bearerKey(request.headers.authorization), deps.metricsToken);
    const account = isOperator ? undefined : await findAccount(deps, request);
    reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    return deps.metrics.text(deps.store, deps.clock.wallMs(), account?.accountId);
  });
}

function isSame(key: string, token: string | undefined): boolean {
  // Hashes have one length, which is what the comparison needs.
  return token !== undefined && timingSafeEqual(Buffer.from(hashKey(key)), Buffer.from(hashKey(token)));
}
