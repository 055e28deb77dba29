import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import type { DashboardOptions } from '@picket/protocol/pages/dashboard.ts';
import type { DashboardData } from '@picket/protocol/pages/public-page.ts';
import { coverageDays, lastDays, windowCoverage } from '../../coverage/coverage-query.ts';
import type { AnalyticsThread } from '../../results/analytics/analytics-thread.ts';
import { measuredOnDemand } from '../../results/analytics/measured-values.ts';
import { aggregateView, verdictOf } from '../../results/reports/check-report.ts';
import type { RecentRun, ReportedCheck } from '../../results/reports/store.ts';
import { namedWindow } from '../../results/reports/window.ts';
import { dashboardIncidentView } from './incident-routes.ts';
import type { Dashboard } from './store.ts';

const dayMs = 86_400_000;
const runsShown = 20;
const daysShown = 7;
const incidentsShown = 100;
const incidentDaysShown = 14;
const defaultChecksPerPage = 15;
/** Limit for dashboards without pagination; further checks are on further pages. */
const mostChecksPerPage = 500;

export interface DashboardRequest {
  readonly dashboard: Dashboard;
  readonly options: DashboardOptions;
  /** Result of `dashboardChecks`. */
  readonly checks: readonly ReportedCheck[];
  readonly page: number;
  readonly now: number;
  readonly publicUrl: string | undefined;
}

/** Activated checks that a dashboard shows, by name. */
export async function dashboardChecks(
  repositories: Pick<Repositories, 'reports'>,
  dashboard: Dashboard,
  options: DashboardOptions,
): Promise<ReportedCheck[]> {
  return repositories.reports.checks({
    accountId: dashboard.account_id,
    tags: options.tags,
    needsAllTags: options.useTagsAndOperator ?? false,
    isActivated: true,
  });
}

/** Data of a dashboard: its checks, one page of them in detail. */
export async function dashboardData(
  repositories: Pick<Repositories, 'reports' | 'dashboardIncidents' | 'states'>,
  analytics: Pick<AnalyticsThread, 'report' | 'coverage'>,
  { dashboard, options, checks, page, now, publicUrl }: DashboardRequest,
): Promise<DashboardData> {
  const [lastDay, lastWeek] = [namedWindow('last24Hrs', now), namedWindow('last7Days', now)];
  const perPage = options.paginate
    ? (options.checksPerPage ?? defaultChecksPerPage)
    : Math.min(checks.length, mostChecksPerPage);
  const shown = checks.slice((page - 1) * perPage, page * perPage);
  const ids = shown.map(({ id }) => id);
  const bars = lastDays(now, daysShown);
  // In parallel, since each query waits for its turn.
  const [dayCoverage, day, week, weekCoverage, byDay] = await Promise.all([
    windowCoverage(
      analytics,
      checks.map(({ id }) => id),
      lastDay,
    ),
    analytics.report(shown, lastDay),
    analytics.report(shown, lastWeek),
    windowCoverage(analytics, ids, lastWeek),
    analytics.coverage({ ...bars, checkIds: ids, location: null }),
  ]);
  const standing = await repositories.states.of(
    dashboard.account_id,
    checks.map(({ id }) => id),
    now,
  );
  const stateOf = (id: string) => standing.get(id)?.state ?? 'not-measured';
  const runs = Map.groupBy(
    await repositories.reports.recentRuns(ids, now - dayMs, runsShown),
    (run) => run.check_id,
  );
  const { tags: _, useTagsAndOperator: __, ...looks } = options;
  return {
    dashboard: looks,
    summary: summaryOf(checks.map(({ id }) => stateOf(id))),
    checks: shown.map((check) => ({
      checkId: check.id,
      name: check.name,
      checkType: check.checkType,
      state: stateOf(check.id),
      groupName: options.showGroupNames ? check.groupName : null,
      tags: options.hideTags ? [] : [...check.tags],
      last24Hours: aggregateView(check.checkType, day.get(check.id), dayCoverage(check.id)),
      last7Days: aggregateView(check.checkType, week.get(check.id), weekCoverage(check.id)),
      days: coverageDays([byDay.get(check.id) ?? []].flat(), bars),
      lastRuns: (runs.get(check.id) ?? []).map((run) => runView(run, options.showCheckRunLinks, publicUrl)),
    })),
    incidents: options.enableIncidents ? await shownIncidents(repositories, dashboard, now) : [],
    pagination: {
      page,
      pages: perPage === 0 ? 1 : Math.max(1, Math.ceil(checks.length / perPage)),
      checksPerPage: perPage,
      total: checks.length,
    },
    generatedAt: new Date(now).toISOString(),
  };
}

function summaryOf(states: readonly CheckState[]): DashboardData['summary'] {
  const count = (wanted: CheckState) => states.filter((state) => state === wanted).length;
  const unknown = {
    notJudged: count('not-judged'),
    notMeasured: count('not-measured'),
    pending: count('pending'),
    paused: count('paused'),
  };
  return {
    passing: count('passing'),
    degraded: count('degraded'),
    failing: count('failing'),
    ...unknown,
    unknown: Object.values(unknown).reduce((sum, one) => sum + one, 0),
  };
}

function runView(
  run: RecentRun,
  hasLink: boolean,
  publicUrl: string | undefined,
): DashboardData['checks'][number]['lastRuns'][number] {
  const base = publicUrl?.replace(/\/+$/, '') ?? '';
  return {
    startedAt: new Date(run.started).toISOString(),
    state: verdictOf({
      hasFailures: run.has_failures === 1,
      hasErrors: run.has_errors === 1,
      isDegraded: run.is_degraded === 1,
    }),
    responseTime: run.response_time,
    runLocation: run.run_location,
    isOnDemand: run.measured === measuredOnDemand,
    resultUrl: hasLink ? `${base}/v1/check-results/${run.check_id}/${run.id}` : null,
  };
}

async function shownIncidents(
  repositories: Pick<Repositories, 'dashboardIncidents'>,
  dashboard: Dashboard,
  now: number,
): Promise<DashboardData['incidents']> {
  const since = now - incidentDaysShown * dayMs;
  const rows = await repositories.dashboardIncidents.ofDashboard(dashboard.id, since, incidentsShown);
  const updates = await repositories.dashboardIncidents.updates(rows.map(({ id }) => id));
  return rows.map((row) => dashboardIncidentView(row, dashboard.dashboard_id, updates));
}
