import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { locationMetricsRoutes } from '@picket/protocol/locations/location-metrics.ts';

const longestAgoMs = 15 * 86_400_000;

/** Route of a private location's metrics. */
export function locationMetricsHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  return handlersById(locationMetricsRoutes, {
    async getPrivateLocationMetrics({ caller, params, query }) {
      const location = await deps.store.locations.find(caller.accountId, params.id);
      if (!location) throw new AppError('NOT_FOUND', `There is no private location ${params.id}.`);
      const [from, to] = [parseTimestamp(query.from) ?? 0, parseTimestamp(query.to) ?? 0];
      if (from <= deps.clock.wallMs() - longestAgoMs) {
        throw fieldError('query', [{ key: 'from', message: 'must be less than 15 days ago' }]);
      }
      if (to < from) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
      const minutes = await deps.store.locationMinutes.list(location.id, from, to);
      return {
        timestamps: minutes.map(({ minute }) => new Date(minute).toISOString()),
        queueSize: minutes.map((row) => row.queue_size),
        oldestScheduledCheckRun: minutes.map((row) => row.oldest_age),
      };
    },
  });
}
