import { parseTimestamp } from '../../protocol/http/query.ts';
import { reportingRoutes, type reportRanges } from '../../protocol/results/reporting.ts';
import { type AnyHandler, handlersById } from '../http/handler.ts';
import { fieldError } from '../http/validation.ts';
import type { AnalyticsDeps } from './analytics/routes.ts';
import { aggregateView } from './check-report.ts';
import { namedWindow, type Window } from './report-window.ts';

/** The route of reports. */
export function reportingHandlers({
  store,
  clock,
  analytics,
}: Pick<AnalyticsDeps, 'store' | 'clock' | 'analytics'>): [string, AnyHandler][] {
  return handlersById(reportingRoutes, {
    async getReport({ caller, query }) {
      const window = windowOf(query, clock.wallMs());
      const checks = await store.reports.checks({
        accountId: caller.accountId,
        tags: query.filterByTags === undefined ? [] : [query.filterByTags].flat(),
        needsAllTags: false,
        isActivated: query.deactivated === undefined ? undefined : !query.deactivated,
      });
      const aggregates = await analytics.report(checks, window);
      return checks.map((check) => ({
        name: check.name,
        checkId: check.id,
        checkType: check.checkType,
        deactivated: !check.isActivated,
        tags: [...check.tags],
        aggregate: aggregateView(check.checkType, aggregates.get(check.id)),
      }));
    },
  });
}

/** `from` and `to` override the named window, each its own end of it. */
function windowOf(
  query: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly quickRange: (typeof reportRanges)[number];
  },
  now: number,
): Window {
  const named = namedWindow(query.quickRange, now);
  const to = (query.to === undefined ? null : parseTimestamp(query.to)) ?? named.to;
  const lengthMs = named.to - named.from;
  const from =
    (query.from === undefined ? null : parseTimestamp(query.from)) ??
    (query.to === undefined ? named.from : to - lengthMs);
  const end = query.to === undefined && query.from !== undefined ? now + 1 : to;
  if (end < from) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  return { from, to: end };
}
