import { eventStates, jobSignals, longestRunMs, maxBodyBytes } from '@picket/checks/heartbeat/spec.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { QueryBoolean, Timestamp } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const HeartbeatEvent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      state: z
        .enum(eventStates)
        .describe(
          '`STARTED` and `LOGGED`: the job started, or left a message; they count as neither success nor failure',
        ),
      timestamp: DateTime.schema,
      source: z.string().nullable().describe('Method and origin of the ping; null if none came'),
      userAgent: z.string().nullable(),
      signal: z.enum(jobSignals).nullable().describe('Signal of the job; null if no ping came'),
      runId: z.string().nullable().describe('`rid` of the ping'),
      exitCode: z.int().nullable(),
      durationMs: z
        .number()
        .nullable()
        .describe('Duration of the run that the ping ended; null if no start of it is known'),
      message: z.string().nullable().describe('`msg` of the ping'),
      otherRuns: z.int().nullable().describe('For STARTED: how many other runs of the job were in progress'),
      body: z
        .string()
        .nullable()
        .describe('The first 10 kB of the ping’s body, without secrets; in lists with includeBodies only'),
      isBodyCut: z.boolean(),
    })
    .meta({ id: 'HeartbeatEvent' }),
);

export type HeartbeatEvent = z.output<typeof HeartbeatEvent.schema>;

const Run = lazySchema(() =>
  z
    .object({
      runId: z.string().nullable().describe('`rid` of its start; null if it gave none'),
      startedAt: DateTime.schema,
      mustEndBy: DateTime.schema.nullable().describe('null: no time limit, or it has failed for it already'),
    })
    .meta({ id: 'JobRun' }),
);

const Timer = lazySchema(() =>
  z
    .object({
      lastAt: DateTime.schema
        .nullable()
        .describe('Last ping, or record of its absence; null before the first'),
      expectedAt: DateTime.schema.nullable().describe('null before the first ping'),
      failsAt: DateTime.schema.nullable().describe('If no ping arrives by then, the monitor fails'),
      nextTimes: z.array(DateTime.schema).describe('The next ten times of its schedule; empty with a period'),
    })
    .meta({ id: 'HeartbeatTimer' }),
);

const Stats = lazySchema(() =>
  z.object({
    successRatio: z.object({
      previousPeriod: z.number().nullable().describe('Percent; null without events'),
      currentPeriod: z.number().nullable().describe('Percent; null without events'),
    }),
    totalEntitiesCurrentPeriod: z.int(),
  }),
);

const HeartbeatStats = lazySchema(() =>
  z
    .object({ last24Hours: Stats.schema, last7Days: Stats.schema })
    .meta({ id: 'HeartbeatStats', description: 'Share of events that are not missed pings' }),
);

const heartbeatRoute = {
  method: 'GET',
  success: successful,
} as const;

const checkParams = z.object({ checkId: z.uuid() });
const window = {
  startTime: Timestamp.optional().describe('Default: 24 hours before endTime'),
  endTime: Timestamp.optional().describe('Default: now'),
};

const pingParams = z.object({ pingToken: z.uuid().toLowerCase() });
const endings = ['start', 'fail', 'log'] as const;

const pingRoute = {
  path: '/v1/ping/{pingToken}',
  tag: 'Heartbeats',
  credential: 'none',
  params: pingParams,
  query: z.object({
    status: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['up', 'down']))
      .optional()
      .describe('`down`: the job failed; the check fails at once'),
    msg: z.string().default('').describe('Message of the job; the first 500 characters are stored'),
    ping: z
      .union([z.literal('').transform(() => undefined), z.coerce.number().min(0).max(longestRunMs)])
      .optional()
      .describe('Duration of the run in milliseconds, as the job measured it'),
    rid: z
      .uuid()
      .toLowerCase()
      .optional()
      .describe('Id of the run, the same for its start and its end: tells runs of one job apart'),
  }),
  // Jobs behind one NAT share an address.
  limitedBy: 'pingToken',
  success: successful,
  response: z.object({}),
  keptBodyBytes: maxBodyBytes,
} as const;

const signalRoute = {
  ...pingRoute,
  path: '/v1/ping/{pingToken}/{signal}',
  params: pingParams.extend({
    signal: z
      .union([z.enum(endings), z.string().regex(/^(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$/)], {
        error: 'must be start, fail, log, or an exit code from 0 to 255',
      })
      .describe('`start`, `fail`, `log`, or the exit code of the job: 0 is a success, 1 to 255 a failure'),
  }),
} as const;

export const heartbeatRoutes = defineRoutes('Heartbeats', 'account', {
  listHeartbeatEvents: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/events',
    summary: 'Events of a heartbeat monitor, newest first, and its statistics',
    params: checkParams,
    query: lazySchema(() =>
      z.object({
        ...window,
        limit: z.coerce.number().int().min(1).max(10).default(10),
        page: z.coerce.number().int().min(1).max(1_000_000_000).default(1),
        includeBodies: QueryBoolean.default(false).describe('Show the bodies of pings'),
      }),
    ),
    response: lazySchema(() =>
      z.array(z.object({ events: z.array(HeartbeatEvent.schema), stats: HeartbeatStats.schema })),
    ),
  },
  getHeartbeatEvent: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/events/{id}',
    summary: 'One event of a heartbeat monitor, and its statistics',
    params: z.object({ checkId: z.uuid(), id: z.uuid() }),
    response: lazySchema(() => z.object({ event: HeartbeatEvent.schema, stats: HeartbeatStats.schema })),
  },
  getHeartbeatAvailability: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/availability',
    summary: 'Availability: share of events in a period that are not missed pings',
    params: checkParams,
    query: z.object(window),
    response: lazySchema(() =>
      z.object({
        successRatio: z.number().nullable().describe('Percent; null without events'),
        totalEntitiesCurrentPeriod: z.int(),
      }),
    ),
  },
  listJobRuns: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/runs',
    summary: 'Runs of the job that have started and not ended, oldest first',
    params: checkParams,
    response: lazySchema(() => z.array(Run.schema)),
  },
  getHeartbeatTimer: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/timer',
    summary: 'When the next ping of a heartbeat monitor is expected, and by when it fails',
    params: checkParams,
    response: Timer,
  },
  ping: {
    ...pingRoute,
    method: 'GET',
    summary: 'Ping of a job; HEAD works, too',
  },
  pingByPost: {
    ...pingRoute,
    method: 'POST',
    summary: 'Ping of a job, with a body of any kind; its first 10 kB are stored',
  },
  signal: {
    ...signalRoute,
    method: 'GET',
    summary: 'Signal of a job: start, failure, message, or exit code; HEAD works, too',
  },
  signalByPost: {
    ...signalRoute,
    method: 'POST',
    summary: 'Signal of a job, with a body of any kind; its first 10 kB are stored',
  },
});
