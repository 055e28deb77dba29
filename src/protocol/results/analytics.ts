import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging, Timestamp } from '../http/query.ts';
import { defineRoute } from '../http/route.ts';
import { Coverage } from '../runs/coverage.ts';

/** Aggregations of values; the suffixes of metric names (spec.md, Analytics parameters). */
export const aggregations = [
  'avg',
  'max',
  'median',
  'min',
  'p50',
  'p90',
  'p95',
  'p99',
  'stddev',
  'sum',
] as const;
export type Aggregation = (typeof aggregations)[number];

export const quickRanges = [
  'last24Hours',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;
export const QuickRange = lazySchema(() => z.enum(quickRanges).default('last24Hours'));
export type QuickRange = (typeof quickRanges)[number];

/** A metric as requests name it. */
export interface NamedMetric {
  readonly key: string;
  readonly label: string;
  readonly unit: 'ms' | 'score' | 'count' | 'percentage';
  readonly of: 'availability' | 'retries' | 'metric';
  /** Without aggregation. */
  readonly name: string;
  readonly aggregation: Aggregation | null;
  readonly isPerItem: boolean;
  /** Its key in overviews of many checks; null if they omit it. */
  readonly overviewKey: string | null;
}

/** Returns every metric of a type, in the order of the documentation. */
export function metricsOf(type: Pick<CheckType, 'analytics'>): NamedMetric[] {
  const { metrics } = type.analytics;
  const named = (aggregation: Aggregation | null) =>
    metrics.map(
      (metric): NamedMetric => ({
        key: aggregation === null ? metric.name : `${metric.name}_${aggregation}`,
        label: metric.label,
        unit: metric.unit,
        of: 'metric',
        name: metric.name,
        aggregation,
        isPerItem: metric.isPerItem ?? false,
        overviewKey:
          aggregation === null || metric.overviewAs === undefined
            ? null
            : `${metric.overviewAs}_${aggregation}`,
      }),
    );
  const ofResults = { aggregation: null, isPerItem: false, overviewKey: null } as const;
  return [
    ...named(null),
    {
      ...ofResults,
      key: 'availability',
      name: 'availability',
      label: 'Availability',
      unit: 'percentage',
      of: 'availability',
      overviewKey: 'availability',
    },
    { ...ofResults, key: 'retries', name: 'retries', label: 'Retries', unit: 'count', of: 'retries' },
    ...aggregations.flatMap(named),
  ];
}

/** Returns the fields by which results of a type can be grouped. */
export function groupingsOf(type: Pick<CheckType, 'analytics'>): [string, ...string[]] {
  const { dimension } = type.analytics;
  return ['runLocation', ...(dimension ? [dimension.name] : [])];
}

/** A list of words: separated by commas, or as a repeated parameter. */
function listOf(words: readonly string[]) {
  const known = new Set(words);
  return z
    .union([z.string(), z.array(z.string())])
    .refine((value) => wordsIn(value).length > 0, 'must name at least one')
    .refine((value) => wordsIn(value).every((word) => known.has(word)), {
      error: `must be a list, separated by commas, of [${words.join(', ')}]`,
    });
}

/** Returns the distinct words of a list. */
export function wordsIn(value: string | readonly string[]): string[] {
  const words = [value].flat().flatMap((text) => text.split(','));
  return [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))];
}

const Row = lazySchema(() => z.record(z.string(), z.union([z.number(), z.string()]).nullable()));
const MetricView = lazySchema(() =>
  z.object({
    label: z.string(),
    unit: z.enum(['ms', 'score', 'count', 'percentage']),
    aggregation: z.enum(aggregations).optional().describe('Absent for the values of single results'),
  }),
);

/** Aggregated results of one check over a window of time (spec.md, "Analytics response"). */
export const AnalyticsAnswer = lazySchema(() =>
  z
    .object({
      checkId: z.string(),
      name: z.string(),
      checkType: z.enum(checkTypeNames),
      activated: z.boolean(),
      muted: z.boolean(),
      frequency: z.number(),
      from: z.iso.datetime(),
      to: z.iso.datetime(),
      tags: z.array(z.string()),
      coverage: Coverage.schema.describe('Coverage of the window, regardless of the filter'),
      coverageByLocation: z.record(z.string(), Coverage.schema).describe('Coverage by location'),
      coverageIntervals: z
        .array(
          z.object({
            timestamp: z.iso.datetime(),
            coverage: Coverage.schema,
            coverageByLocation: z
              .record(z.string(), Coverage.schema)
              .optional()
              .describe('With groupBy=runLocation: coverage of the interval by location'),
          }),
        )
        .optional()
        .describe('With aggregationInterval: all intervals with due slots, including those without results'),
      series: z
        .array(z.looseObject({ data: z.array(Row.schema) }))
        .describe('One series for each group, with its key; a single series without groups'),
      pagination: z.object({ page: z.number(), limit: z.number() }),
      metadata: z.record(z.string(), MetricView.schema),
    })
    .meta({ id: 'AnalyticsAnswer' }),
);
export type AnalyticsAnswer = z.output<typeof AnalyticsAnswer.schema>;

const window = {
  from: Timestamp.optional().describe('Start of the window; overrides quickRange'),
  to: Timestamp.optional().describe('End of the window; overrides quickRange'),
  quickRange: QuickRange.schema,
};
const analyticsRoute = {
  method: 'GET',
  tag: 'Analytics',
  credential: 'account',
  success: { statusCode: 200, label: 'Success' },
} as const;

/** A query may read a million numbers (check model 4.3). */
const rateLimit = { requests: 30, windowSeconds: 60 };

/** The query of one type's route. */
export function analyticsQuery(type: Pick<CheckType, 'analytics'>) {
  const { states } = type.analytics;
  const whole = z.object({
    ...window,
    filterByStatus: listOf(states?.names ?? ['success', 'failure'])
      .optional()
      .describe('Separated by commas; default: all'),
    metrics: listOf(metricsOf(type).map(({ key }) => key)).describe(describeMetrics(type)),
    ...Paging,
  });
  const divided = whole.extend({
    aggregationInterval: z.coerce
      .number()
      .min(1)
      .max(43_200)
      .optional()
      .describe('Length of an interval in minutes; absent: one row for the whole window'),
  });
  const groups = { groupBy: z.enum(groupingsOf(type)).optional() };
  // Events have no locations: their schema lacks this field.
  return (states ? divided : divided.extend(groups)) as ReturnType<typeof divided.extend<typeof groups>>;
}

function describeMetrics({ analytics }: Pick<CheckType, 'analytics'>): string {
  const names = analytics.metrics.map(({ name }) => name).join(', ');
  const own = `${names} with the ending ${aggregations.map((ending) => `_${ending}`).join(', ')}, or without for the values of each result; `;
  return `Separated by commas. ${names === '' ? '' : own}availability, retries`;
}

/** The route of the analytics of one check type. */
export function typedAnalyticsRoute(type: Pick<CheckType, 'analytics' | 'title'>) {
  const words = type.analytics.route.split('-').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return defineRoute({
    ...analyticsRoute,
    path: `/v1/analytics/${type.analytics.route}/{id}`,
    operationId: `get${words.join('')}Analytics`,
    summary: `Metrics of the results of a check: ${type.title}`,
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() => analyticsQuery(type)),
    // Events are few and quick to count.
    ...(type.analytics.states ? {} : { rateLimit }),
    response: AnalyticsAnswer,
  });
}

const Overview = lazySchema(() =>
  z
    .object({ checkId: z.string(), name: z.string(), checkType: z.string(), coverage: Coverage.schema })
    .catchall(z.union([z.string(), z.number()]).nullable())
    .describe('null: no data; absent: the type has no such metric')
    .meta({ id: 'AnalyticsOverview' }),
);

/** The operations for all types. */
export const analyticsRoutes = {
  listAnalyticsMetrics: defineRoute({
    ...analyticsRoute,
    path: '/v1/analytics/metrics',
    operationId: 'listAnalyticsMetrics',
    summary: 'Metrics of a check type',
    query: z.object({ checkType: z.enum(checkTypeNames) }),
    response: lazySchema(() =>
      z.array(
        z
          .object({
            name: z.string(),
            unit: z.string(),
            label: z.string(),
            type: z.enum(['Array', 'Int', 'Integer', 'Float', 'String']),
            aggregated: z.boolean(),
          })
          .meta({ id: 'AnalyticsMetric' }),
      ),
    ),
  }),
  overviewOfChecks: defineRoute({
    ...analyticsRoute,
    method: 'POST',
    path: '/v1/analytics/checks',
    operationId: 'getAnalyticsOfChecks',
    summary: 'Availability and main metrics of up to 100 checks',
    isReadOnly: true,
    rateLimit,
    query: lazySchema(() =>
      z.object({
        quickRange: z.enum(quickRanges).optional().describe('Takes precedence over the one of the body'),
      }),
    ),
    body: lazySchema(() =>
      z
        .object({ checkIds: z.array(z.uuid()).min(1).max(100), quickRange: QuickRange.schema })
        .meta({ id: 'AnalyticsOverviewInput' }),
    ),
    response: lazySchema(() => z.array(Overview.schema)),
  }),
};
