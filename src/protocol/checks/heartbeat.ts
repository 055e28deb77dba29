import { pingStates } from '@picket/checks/heartbeat/spec.ts';
import { z } from 'zod';
import { Timestamp } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';

const DateTime = z.iso.datetime();

const HeartbeatEvent = z
  .object({
    id: z.string(),
    state: z.enum(pingStates),
    timestamp: DateTime,
    source: z.string().nullable().describe('Method and origin of the ping; null for FAILING'),
    userAgent: z.string().nullable(),
  })
  .meta({ id: 'HeartbeatEvent' });

const Stats = z.object({
  successRatio: z.object({
    previousPeriod: z.number().nullable().describe('Percent; null without events'),
    currentPeriod: z.number().nullable().describe('Percent; null without events'),
  }),
  totalEntitiesCurrentPeriod: z.int(),
});

const HeartbeatStats = z
  .object({ last24Hours: Stats, last7Days: Stats })
  .meta({ id: 'HeartbeatStats', description: 'Share of events that are not missed pings' });

const heartbeatRoute = {
  method: 'GET',
  success: successful,
} as const;

const checkParams = z.object({ checkId: z.uuid() });
const window = {
  startTime: Timestamp.optional().describe('Default: 24 hours before endTime'),
  endTime: Timestamp.optional().describe('Default: now'),
};

const pingRoute = {
  path: '/v1/ping/{pingToken}',
  tag: 'Heartbeats',
  credential: 'none',
  params: z.object({ pingToken: z.uuid().toLowerCase() }),
  query: z.object({
    status: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['up', 'down']))
      .default('up')
      .describe('`down`: the job failed; the check fails at once'),
    msg: z
      .string()
      .default('')
      .describe('Message of the job about a failure; the first 500 characters are stored'),
  }),
  // Jobs behind one NAT share an address.
  limitedBy: 'pingToken',
  success: successful,
  response: z.object({}),
  isBodyIgnored: true,
} as const;

export const heartbeatRoutes = defineRoutes('Heartbeats', 'account', {
  listHeartbeatEvents: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/events',
    summary: 'Events of a heartbeat monitor, newest first, and its statistics',
    params: checkParams,
    query: z.object({
      ...window,
      limit: z.coerce.number().int().min(1).max(10).default(10),
      page: z.coerce.number().int().min(1).max(1_000_000_000).default(1),
    }),
    response: z.array(z.object({ events: z.array(HeartbeatEvent), stats: HeartbeatStats })),
  },
  getHeartbeatEvent: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/events/{id}',
    summary: 'One event of a heartbeat monitor, and its statistics',
    params: z.object({ checkId: z.uuid(), id: z.uuid() }),
    response: z.object({ event: HeartbeatEvent, stats: HeartbeatStats }),
  },
  getHeartbeatAvailability: {
    ...heartbeatRoute,
    path: '/v1/checks/heartbeats/{checkId}/availability',
    summary: 'Availability: share of events in a period that are not missed pings',
    params: checkParams,
    query: z.object(window),
    response: z.object({
      successRatio: z.number().nullable().describe('Percent; null without events'),
      totalEntitiesCurrentPeriod: z.int(),
    }),
  },
  ping: {
    ...pingRoute,
    method: 'GET',
    summary: 'Ping of a job; HEAD works, too',
  },
  pingByPost: {
    ...pingRoute,
    method: 'POST',
    summary: 'Ping of a job; the body is ignored',
  },
});
