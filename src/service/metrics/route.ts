import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { bearerKey, findAccount } from '@picket/platform/http/auth.ts';
import { describeIssues } from '@picket/platform/http/validation.ts';
import { hashKey } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CheckMetrics, CheckMetricsQuery } from '../check-metrics/check-metrics.ts';
import { contentTypes, formatFor } from '../check-metrics/exposition.ts';
import type { ServiceMetrics } from './metrics.ts';

export interface MetricsRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
  /** Bearer token with access to every account; absent: no such token. */
  readonly metricsToken?: string | undefined;
  /** Shared with other users of check totals; absent: creates its own. */
  readonly checkMetrics?: CheckMetrics | undefined;
}

/**
 * `GET /metrics` and `GET /metrics/checks`, next to the operators' probes: they belong to the process, not to the API.
 * The metrics token sees all accounts, an API key of any role its own.
 *
 * @throws AppError BAD_TOKEN, FOREIGN_ACCOUNT or VALIDATION_FAILED.
 */
export function addMetricsRoute(app: FastifyInstance, deps: MetricsRouteDeps): void {
  const { checkMetrics = new CheckMetrics(deps) } = deps;
  const accountOf = async (request: FastifyRequest) => {
    const isOperator = isSame(bearerKey(request.headers.authorization), deps.metricsToken);
    return isOperator ? undefined : (await findAccount(deps, request)).accountId;
  };
  app.get('/metrics', async (request, reply) => {
    const accountId = await accountOf(request);
    reply.header('content-type', contentTypes.prometheus);
    return deps.metrics.text(deps.store, deps.clock.wallMs(), accountId);
  });
  app.get('/metrics/checks', async (request, reply) => {
    const accountId = await accountOf(request);
    const query = CheckMetricsQuery.safeParse(request.query);
    if (!query.success) throw new AppError('VALIDATION_FAILED', describeIssues(query.error.issues));
    const format = formatFor(request.headers.accept);
    reply.header('content-type', contentTypes[format]);
    return checkMetrics.text({ query: query.data, accountId, format });
  });
}

function isSame(key: string, token: string | undefined): boolean {
  // Hashes have equal lengths, which the comparison requires.
  return token !== undefined && timingSafeEqual(Buffer.from(hashKey(key)), Buffer.from(hashKey(token)));
}
