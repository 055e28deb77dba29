import { type AnyHandler, type Call, handlersById } from '@picket/platform/feature/handler.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { type CheckReport, reportingRoutes, type reportRanges } from '@picket/protocol/results/reporting.ts';
import { windowCoverage } from '../../coverage/coverage-query.ts';
import type { AnalyticsDeps } from '../analytics/routes.ts';
import { aggregateView } from './check-report.ts';
import { reportAsCsv } from './csv.ts';
import { namedWindow, type Window } from './window.ts';

type Asked = Pick<Call<typeof reportingRoutes.getReport>, 'caller' | 'query'>;

/** Routes of reports. */
export function reportingHandlers({
  store,
  clock,
  analytics,
}: Pick<AnalyticsDeps, 'store' | 'clock' | 'analytics'>): [string, AnyHandler][] {
  const reportOf = async ({ caller, query }: Asked, window: Window): Promise<CheckReport[]> => {
    const checks = await store.reports.checks({
      accountId: caller.accountId,
      tags: query.filterByTags === undefined ? [] : [query.filterByTags].flat(),
      needsAllTags: false,
      isActivated: query.deactivated === undefined ? undefined : !query.deactivated,
    });
    const ids = checks.map(({ id }) => id);
    const [aggregates, coverage] = await Promise.all([
      analytics.report(checks, window),
      windowCoverage(analytics, ids, window),
    ]);
    return checks.map((check) => ({
      name: check.name,
      checkId: check.id,
      checkType: check.checkType,
      deactivated: !check.isActivated,
      tags: [...check.tags],
      aggregate: aggregateView(check.checkType, aggregates.get(check.id), coverage(check.id)),
    }));
  };
  return handlersById(reportingRoutes, {
    async getReport(call) {
      return reportOf(call, windowOf(call.query, clock.wallMs()));
    },
    async getReportAsCsv(call) {
      const window = windowOf(call.query, clock.wallMs());
      call.reply.header('content-disposition', 'attachment; filename="report.csv"');
      return reportAsCsv(await reportOf(call, window), window);
    },
  });
}

/** `from` and `to` each override one end of the named window. */
function windowOf(
  query: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly quickRange: (typeof reportRanges)[number];
    readonly timezone: string;
  },
  now: number,
): Window {
  const named = namedWindow(query.quickRange, now, query.timezone);
  const to = (query.to === undefined ? null : parseTimestamp(query.to)) ?? named.to;
  const lengthMs = named.to - named.from;
  const from =
    (query.from === undefined ? null : parseTimestamp(query.from)) ??
    (query.to === undefined ? named.from : to - lengthMs);
  const end = query.to === undefined && query.from !== undefined ? now + 1 : to;
  if (end < from) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  return { from, to: end };
}
