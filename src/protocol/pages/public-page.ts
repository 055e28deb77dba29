import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CheckState } from '../checks/check-state.ts';
import { accepted, defineRoutes } from '../http/route.ts';
import { Aggregate } from '../results/reporting.ts';
import { Coverage, Measurement } from '../runs/coverage.ts';
import { DashboardOptions } from './dashboard.ts';
import { DashboardIncident } from './dashboard-incident.ts';
import { Incident, incidentSeverities } from './incident.ts';
import { Maintenance, MaintenanceUpdate } from './maintenance.ts';
import { StatusPageOptions } from './status-page.ts';
import { ComponentImpact, componentImpacts, componentTypes } from './status-page-component.ts';

/** State of a run on a page. */
const RunVerdict = lazySchema(() =>
  z
    .enum(['passing', 'degraded', 'failing', 'unknown'])
    .describe('unknown: the run failed because of the monitoring itself'),
);
export type RunVerdict = z.output<typeof RunVerdict.schema>;

const DashboardCheck = lazySchema(() =>
  z.object({
    checkId: z.string(),
    name: z.string(),
    checkType: z.enum(checkTypeNames),
    state: CheckState.schema,
    groupName: z.string().nullable().describe('null if the dashboard hides the names of groups'),
    tags: z.array(z.string()).describe('Empty if the dashboard hides tags'),
    last24Hours: Aggregate.schema,
    last7Days: Aggregate.schema,
    days: z
      .array(z.object({ date: z.iso.date(), measurement: Measurement.schema, coverage: Coverage.schema }))
      .describe('The last 7 days (UTC), oldest first'),
    lastRuns: z
      .array(
        z.object({
          startedAt: z.iso.datetime(),
          state: RunVerdict.schema,
          responseTime: z.number().describe('Milliseconds'),
          runLocation: z.string(),
          isOnDemand: z.boolean().describe('Run on demand: not part of the schedule or of any success ratio'),
          resultUrl: z
            .string()
            .nullable()
            .describe('URL of the result; null if the dashboard shows no links to runs'),
        }),
      )
      .describe('The newest 20 final runs of the last 24 hours, newest first'),
  }),
);

/** All data of a dashboard. */
export const DashboardData = lazySchema(() =>
  z
    .object({
      dashboard: DashboardOptions.schema.omit({ tags: true, useTagsAndOperator: true }),
      summary: z.object({
        passing: z.int(),
        degraded: z.int(),
        failing: z.int(),
        notJudged: z.int(),
        notMeasured: z.int(),
        pending: z.int(),
        paused: z.int(),
        unknown: z.int().describe('Sum of notJudged, notMeasured, pending and paused'),
      }),
      checks: z.array(DashboardCheck.schema),
      incidents: z
        .array(DashboardIncident.schema.omit({ dashboardId: true }))
        .describe('Open incidents and those that ended within 14 days; empty if the dashboard shows none'),
      pagination: z.object({ page: z.int(), pages: z.int(), checksPerPage: z.int(), total: z.int() }),
      generatedAt: z.iso.datetime(),
    })
    .meta({ id: 'DashboardData' }),
);
export type DashboardData = z.output<typeof DashboardData.schema>;

/** State of a service on a status page: the worst severity of its open incidents and current maintenance. */
export const ServiceState = lazySchema(() => z.enum(['OPERATIONAL', 'MINOR', 'MEDIUM', 'MAJOR', 'CRITICAL']));
export type ServiceState = z.output<typeof ServiceState.schema>;

const uptime = z
  .number()
  .nullable()
  .describe('Percent of the time since `uptimeSince` without an incident; null without data');
const uptimeSince = z.iso
  .datetime()
  .nullable()
  .default(null)
  .describe(
    'Due time of the first measured slot, or creation time of the service if no check opens its incidents; at most 90 days ago',
  );
const serviceCoverage = Coverage.schema
  .nullable()
  .describe('Coverage of the last 90 days; null if no check opens its incidents');

const measuredNow = Measurement.schema
  .nullable()
  .default(null)
  .describe(
    'Current measurement of the checks that open its incidents: FULL: all are measured, PARTIAL: some, NONE: no check; null if no check opens its incidents. Pages and badges show "operational" only if FULL',
  );

/** State of a component on a status page: the worst impact of its open incidents and of its parts. */
export const ComponentState = lazySchema(() => z.enum(['OPERATIONAL', ...componentImpacts]));
export type ComponentState = z.output<typeof ComponentState.schema>;

const shownDays = z.array(
  z.object({
    date: z.iso.date(),
    incidentSeconds: z.int(),
    measurement: Measurement.schema
      .nullable()
      .describe('FULL, PARTIAL, NONE; null if no check opens its incidents'),
    coverage: Coverage.schema.nullable(),
  }),
);

const ShownComponent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      parentId: z.string().nullable().describe('Id of its group, which precedes it in the list'),
      type: z.enum(componentTypes),
      name: z.string(),
      description: z.string().nullable(),
      state: ComponentState.schema,
      measuredNow,
      isExpanded: z.boolean().describe('For a group: whether its components are shown expanded'),
      uptime: uptime.describe(
        'Percent of the time since `uptimeSince` without an incident, not counting maintenance; null without data, or if the history is hidden',
      ),
      uptimeSince,
      coverage: serviceCoverage,
      days: shownDays.describe('The last 90 days (UTC), oldest first; empty if the history is hidden'),
    })
    .meta({ id: 'ShownComponent' }),
);

/** All data of a status page. */
export const StatusPageData = lazySchema(() =>
  z
    .object({
      page: z.object({
        name: z.string(),
        url: z.string(),
        isPrivate: z.boolean().default(false),
        version: z.union([z.literal(2), z.literal(3)]).default(2),
        ...StatusPageOptions.shape,
      }),
      state: ServiceState.schema,
      components: z
        .array(ShownComponent.schema)
        .default([])
        .describe('For a page of components: each group before its components, in display order'),
      cards: z.array(
        z.object({
          name: z.string(),
          state: ServiceState.schema,
          uptime: uptime.describe('Uptime of its services together, each weighted by its observed time'),
          uptimeSince,
          coverage: serviceCoverage,
          services: z.array(
            z.object({
              id: z.string(),
              name: z.string(),
              state: ServiceState.schema,
              measuredNow,
              uptime,
              uptimeSince,
              coverage: serviceCoverage,
              days: shownDays.describe('The last 90 days (UTC), oldest first'),
            }),
          ),
        }),
      ),
      incidents: z
        .array(
          Incident.schema
            .omit({
              services: true,
              components: true,
              automationRuleId: true,
              created_at: true,
              updated_at: true,
            })
            .extend({
              services: z.array(z.object({ id: z.string(), name: z.string() })),
              components: z
                .array(z.object({ id: z.string(), name: z.string(), impact: ComponentImpact.schema }))
                .default([]),
            }),
        )
        .describe('Open incidents and those of the last 90 days, newest first, at most 100'),
      maintenances: z
        .array(
          Maintenance.schema.omit({ updates: true }).extend({
            description: z.string().nullable(),
            severity: z.enum(incidentSeverities).describe('State of its services during the maintenance'),
            services: z.array(z.object({ id: z.string(), name: z.string() })),
            components: z.array(z.object({ id: z.string(), name: z.string() })).default([]),
            updates: z.array(
              MaintenanceUpdate.schema.pick({ id: true, status: true, description: true, created_at: true }),
            ),
          }),
        )
        .describe(
          'Current maintenance, and maintenance that begins within 30 days or ended within the last day; soonest first, at most 50',
        ),
      generatedAt: z.iso.datetime(),
    })
    .meta({ id: 'StatusPageData' }),
);
export type StatusPageData = z.output<typeof StatusPageData.schema>;
const rateLimit = { requests: 60, windowSeconds: 60 };
/** It reads the results of a week. */
const dashboardLimit = { requests: 10, windowSeconds: 20 };
/** Each may send a mail to a third party. */
const subscribeLimit = { requests: 5, windowSeconds: 600 };
const pageKey = {
  key: z.string().max(512).optional().describe('Key of a private page, for wall displays'),
};
const params = z.object({ address: z.string().min(1).max(253) });

/** Operations without a key. */
export const publicPageRoutes = defineRoutes('Public pages', 'none', {
  getDashboardData: {
    rateLimit: dashboardLimit,
    method: 'GET',
    path: '/v1/public/dashboards/{address}',
    summary:
      'Content of a dashboard, by its customUrl or customDomain; a private one needs its key as bearer token or `key`',
    params,
    query: lazySchema(() =>
      z.object({
        page: z.coerce.number().int().min(1).max(1_000_000).default(1),
        ...pageKey,
      }),
    ),
    response: DashboardData,
  },
  getStatusPageData: {
    rateLimit,
    method: 'GET',
    path: '/v1/public/status-pages/{address}',
    summary:
      'Content of a status page, by its url or customDomain; a private one needs its key as bearer token or `key`',
    params,
    query: z.object(pageKey),
    response: StatusPageData,
  },
  subscribe: {
    rateLimit: subscribeLimit,
    method: 'POST',
    path: '/v1/public/status-pages/{address}/subscriptions',
    summary:
      'Subscribe to mails about incidents and maintenance: a mail with a confirmation link is sent, valid for two days. The response is the same for every mail address, whether it is subscribed or not. A private page needs its key',
    params,
    query: z.object(pageKey),
    body: lazySchema(() =>
      z
        .object({
          type: z.literal('EMAIL'),
          config: z.object({ address: z.email().max(254) }),
        })
        .meta({ id: 'PublicSubscriptionInput' }),
    ),
    success: accepted,
    response: z.object({ status: z.literal('PENDING') }),
  },
  confirmSubscription: {
    rateLimit,
    method: 'POST',
    path: '/v1/public/subscriptions/{token}/confirm',
    summary: 'Confirm a subscription with the link of a mail',
    params: z.object({ token: z.string().min(1).max(128) }),
  },
  unsubscribe: {
    rateLimit,
    method: 'POST',
    path: '/v1/public/subscriptions/{token}/unsubscribe',
    summary: 'End a subscription with the link of a mail (RFC 8058)',
    params: z.object({ token: z.string().min(1).max(128) }),
  },
});
