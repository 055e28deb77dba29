import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AgentIdentity } from '../agent/agent.ts';
import { EpochMs, Paging } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

/** Parts of an agent's location that can be unhealthy. */
export const unhealthyKinds = [
  'resolver',
  'network',
  'service',
  'event-loop',
  'memory',
  'disk',
  'descriptors',
] as const;
export type UnhealthyKind = (typeof unhealthyKinds)[number];

/** Agents that are newer than the service may report others. */
const kind = z
  .string()
  .regex(/^[a-z-]{1,32}$/, 'must be lower-case letters and dashes')
  .describe(`The problem: ${unhealthyKinds.join(', ')}`);
const evidence = z.string().max(1000).describe('Findings of the agent about itself');
const affectedRuns = z.int().min(0).describe('Runs that ended as errors of the location for this reason');

/** A period in which an agent found its location unhealthy. Reported again, with the same id, after a change. */
export const ReportedLocationEvent = lazySchema(() =>
  z
    .object({
      eventId: z.uuid(),
      kind,
      evidence,
      affectedRuns,
      startedAt: EpochMs.describe('Epoch milliseconds by the service’s clock'),
      endedAt: EpochMs.nullable().describe('null while it lasts'),
    })
    .meta({ id: 'ReportedLocationEvent' }),
);
export type ReportedLocationEvent = z.output<typeof ReportedLocationEvent.schema>;

/** A location event as the API shows it. */
export const LocationEvent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      agentId: z.string(),
      kind,
      evidence,
      affectedRuns,
      startedAt: z.iso.datetime(),
      endedAt: z.iso.datetime().nullable(),
    })
    .meta({ id: 'LocationEvent' }),
);
export type LocationEvent = z.output<typeof LocationEvent.schema>;

export const maxLocationEventsPerCall = 50;

export const locationEventRoutes = defineRoutes('Agent protocol', 'location', {
  reportLocationEvents: {
    method: 'POST',
    path: '/v1/agent/location-events',
    summary: 'Report that the location is unhealthy, or healthy again; idempotent by event id',
    body: lazySchema(() =>
      z.object({
        ...AgentIdentity,
        events: z.array(ReportedLocationEvent.schema).min(1).max(maxLocationEventsPerCall),
      }),
    ),
    response: z.object({ serverTime: z.number() }),
  },
  listLocationEvents: {
    method: 'GET',
    path: '/v1/private-locations/{id}/events',
    summary: 'Periods in which agents reported a private location as unhealthy, newest first',
    tag: 'Private locations',
    credential: 'account',
    params: z.object({ id: z.uuid() }),
    query: z.object(Paging),
    response: lazySchema(() => z.array(LocationEvent.schema)),
  },
});
