import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
} from '@picket/platform/feature/handler.ts';
import { pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import {
  type AnalyticsAnswer,
  type analyticsQuery,
  analyticsRoutes,
  metricsOf,
  type NamedMetric,
  typedAnalyticsRoute,
  wordsIn,
} from '@picket/protocol/results/analytics.ts';
import { noCoverage } from '@picket/protocol/runs/coverage.ts';
import type { Check } from '../../checks/store.ts';
import { windowCoverage } from '../../coverage/coverage-query.ts';
import type { AnalyticsThread } from './analytics-thread.ts';
import type { AnalyticsQuery, Series, Wanted } from './series.ts';
import { type Window, windowOf } from './window.ts';

/** Dependencies of the analytics routes. */
export type AnalyticsDeps = HandlerDeps & { readonly analytics: AnalyticsThread };

type Query = ReturnType<typeof analyticsQuery>['_output'];

/** Routes of analytics. */
export function analyticsHandlers(deps: AnalyticsDeps): [string, AnyHandler][] {
  const generic = handlersById(analyticsRoutes, {
    async listAnalyticsMetrics({ query }) {
      const type = findCheckType(query.checkType);
      if (!type) throw new Error(`the schema let through the type ${query.checkType}`);
      return metricsOf(type).map((metric) => ({
        name: metric.key,
        unit: metric.unit,
        label: metric.label,
        type: metric.of === 'retries' ? ('Integer' as const) : ('Float' as const),
        aggregated: metric.of !== 'metric' || metric.aggregation !== null,
      }));
    },
    async overviewOfChecks({ caller, query, body }) {
      const window = windowOf(query.quickRange ?? body.quickRange, deps.clock.wallMs());
      const ids = [...new Set(body.checkIds.map((id) => id.toLowerCase()))];
      const checks = await checksOf(deps, caller.accountId, ids);
      const [coverage, ...overviews] = await Promise.all([
        windowCoverage(deps.analytics, ids, window),
        ...checks.map((check) => overviewOf(deps, check, window)),
      ]);
      return overviews.map((overview) => ({ ...overview, coverage: coverage(overview.checkId) }));
    },
  });
  const typed = checkTypes.map((type): [string, AnyHandler] => {
    const route = typedAnalyticsRoute(type);
    const handler = ({ caller, params, query }: Call<typeof route>) =>
      answerFor(deps, type, { accountId: caller.accountId, id: params.id, query });
    return [route.operationId, handler as unknown as AnyHandler];
  });
  return [...generic, ...typed];
}

async function checkOf(deps: AnalyticsDeps, accountId: string, id: string): Promise<Check> {
  const check = await deps.store.checks.find(accountId, id);
  if (!check) throw noSuchCheck(id);
  return check;
}

/** The same for many, in their order, by one statement. */
async function checksOf(deps: AnalyticsDeps, accountId: string, ids: readonly string[]): Promise<Check[]> {
  const checks = await deps.store.checks.findMany(ids);
  return ids.map((id) => {
    const check = checks.get(id);
    if (check?.accountId !== accountId) throw noSuchCheck(id);
    return check;
  });
}

function noSuchCheck(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no check ${id}.`);
}

async function answerFor(
  deps: AnalyticsDeps,
  type: CheckType,
  request: { readonly accountId: string; readonly id: string; readonly query: Query },
): Promise<AnalyticsAnswer> {
  const { query } = request;
  const check = await checkOf(deps, request.accountId, request.id);
  if (check.checkType !== type.name) {
    throw new AppError('NOT_FOUND', `The check ${check.id} is of another type: ${type.title}.`);
  }
  const window = askedWindow(query, deps.clock.wallMs());
  const keys = wordsIn(query.metrics);
  const metrics = metricsOf(type).filter(({ key }) => keys.includes(key));
  const asked = deps.analytics.ask({
    checkId: check.id,
    ...window,
    wanted: metrics.map(wantedOf),
    groupBy: groupOf(type, query.groupBy),
    intervalMs: query.aggregationInterval === undefined ? null : query.aggregationInterval * 60_000,
    filter:
      query.filterByStatus === undefined
        ? null
        : { by: type.analytics.states ? 'dimension' : 'status', texts: wordsIn(query.filterByStatus) },
    offset: pageOffset(query),
    limit: query.limit,
  });
  // In parallel, so that neither waits for the other.
  const counted = deps.analytics.coverage({
    checkIds: [check.id],
    ...window,
    location: null,
    intervalMs: query.aggregationInterval === undefined ? null : query.aggregationInterval * 60_000,
    isByLocation: query.groupBy === 'runLocation',
  });
  const [series, found] = await Promise.all([asked, counted]);
  const coverage = found.get(check.id);
  const { definition } = check;
  return {
    checkId: check.id,
    name: check.name,
    checkType: type.name as AnalyticsAnswer['checkType'],
    activated: check.activated,
    muted: definition.muted === true,
    frequency: definition.frequency as number,
    from: iso(window.from),
    to: iso(window.to),
    tags: (definition.tags as string[] | undefined) ?? [],
    coverage: coverage?.total ?? noCoverage,
    coverageByLocation: coverage?.byLocation ?? {},
    ...(query.aggregationInterval === undefined
      ? {}
      : {
          coverageIntervals: (coverage?.intervals ?? []).map((interval) => ({
            timestamp: iso(interval.at),
            coverage: interval.coverage,
            ...(interval.byLocation ? { coverageByLocation: interval.byLocation } : {}),
          })),
        }),
    series: series.map((one) => seriesView(type, query.groupBy, metrics, one)),
    pagination: { page: query.page, limit: query.limit },
    metadata: Object.fromEntries(
      metrics.map(({ key, label, unit, aggregation }) => [
        key,
        { label, unit, ...(aggregation === null ? {} : { aggregation }) },
      ]),
    ),
  };
}

/** Window of a request: `from` and `to` each override that end of the named range. */
function askedWindow(query: Pick<Query, 'from' | 'to' | 'quickRange'>, now: number): Window {
  const named = windowOf(query.quickRange, now);
  const from = query.from === undefined ? null : parseTimestamp(query.from);
  const to = query.to === undefined ? null : parseTimestamp(query.to);
  if (from === null && to === null) return named;
  const lengthMs = named.to - named.from;
  const window = { from: from ?? (to ?? named.to) - lengthMs, to: to ?? now + 1 };
  if (window.to < window.from) {
    throw fieldError('query', [{ key: to === null ? 'from' : 'to', message: 'must not be before "from"' }]);
  }
  return window;
}

function wantedOf({ key, of, name, aggregation, isPerItem }: NamedMetric): Wanted {
  if (of !== 'metric') return { key, of: { kind: of } };
  return { key, of: { kind: 'metric', column: name, aggregation, isPerItem } };
}

function groupOf(type: CheckType, name: string | undefined): AnalyticsQuery['groupBy'] {
  if (name === undefined) return null;
  if (name !== type.analytics.dimension?.name) return 'location';
  return type.analytics.items ? 'item' : 'dimension';
}

function seriesView(
  type: CheckType,
  groupBy: string | undefined,
  metrics: readonly NamedMetric[],
  series: Series,
): AnalyticsAnswer['series'][number] {
  const group = groupBy === undefined || series.key === null ? {} : groupView(type, groupBy, series);
  return {
    ...group,
    data: series.rows.map(({ at, values }) => ({
      ...(at === null ? {} : { timestamp: iso(at) }),
      ...group,
      ...Object.fromEntries(metrics.map(({ key }, index) => [key, values[index] ?? null])),
    })),
  };
}

function groupView(type: CheckType, groupBy: string, series: Series): Record<string, string | number> {
  const { dimension } = type.analytics;
  const isOwn = groupBy === dimension?.name;
  const isNumber = isOwn && (dimension.isNumber || dimension.shownAs !== undefined);
  return {
    [groupBy]: isNumber ? Number(series.key) : (series.key ?? ''),
    ...(isOwn && dimension.shownAs !== undefined ? { [dimension.shownAs]: series.text ?? '' } : {}),
  };
}

async function overviewOf(deps: AnalyticsDeps, check: Check, window: Window) {
  const type = findCheckType(check.checkType);
  const identity = { checkId: check.id, name: check.name, checkType: check.checkType };
  if (!type) return identity;
  const metrics = metricsOf(type).filter(({ overviewKey }) => overviewKey !== null);
  const [series] = await deps.analytics.ask({
    checkId: check.id,
    ...window,
    wanted: metrics.map(wantedOf),
    groupBy: null,
    intervalMs: null,
    filter: null,
    offset: 0,
    limit: 1,
  });
  const values = series?.rows[0]?.values ?? [];
  const views = metrics.map(({ overviewKey }, index) => [overviewKey, values[index] ?? null]);
  return { ...identity, ...Object.fromEntries(views) };
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
