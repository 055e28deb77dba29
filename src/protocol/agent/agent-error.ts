import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

const line = (maxLength: number) => z.string().max(maxLength);

/** One frame of a stack: only files of the agent's package, its libraries and Node. */
export const AgentErrorFrame = lazySchema(() =>
  z.object({
    filename: line(300),
    function: line(120),
    lineno: z.int().min(0),
    colno: z.int().min(0),
  }),
);
export type AgentErrorFrame = z.output<typeof AgentErrorFrame.schema>;

/**
 * An error of an agent, as an event of the Sentry protocol with exactly these fields (spec.md "Events"): the error, its
 * location in the agent's code, and the agent.
 */
export const AgentErrorEvent = lazySchema(() =>
  z.object({
    event_id: z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits'),
    timestamp: z.number().min(0).max(1e11),
    platform: z.literal('node'),
    level: z.enum(['error', 'fatal']),
    release: line(64).describe('Version of the agent'),
    contexts: z.object({
      os: z.object({ name: line(64) }).describe('Platform of the agent'),
      runtime: z.object({ name: line(32), version: line(32) }),
    }),
    exception: z.object({
      values: z
        .array(
          z.object({
            type: line(100),
            value: line(1000),
            stacktrace: z.object({ frames: z.array(AgentErrorFrame.schema).max(100) }),
          }),
        )
        .min(1)
        .max(5),
    }),
  }),
);
export type AgentErrorEvent = z.output<typeof AgentErrorEvent.schema>;

/** Errors of a location's agents, grouped by similarity, as the API shows them. */
export const AgentError = lazySchema(() =>
  z
    .object({
      id: z.string(),
      type: z.string(),
      message: z.string(),
      level: z.string(),
      stack: z.array(AgentErrorFrame.schema).describe('The innermost frame last'),
      agentVersion: z.string(),
      platform: z.string(),
      runtime: z.string(),
      count: z.int(),
      firstSeenAt: z.iso.datetime(),
      lastSeenAt: z.iso.datetime(),
    })
    .meta({ id: 'AgentError' }),
);
export type AgentError = z.output<typeof AgentError.schema>;

export const agentErrorRoutes = defineRoutes('Agent protocol', 'location', {
  reportAgentError: {
    method: 'POST',
    path: '/api/{project}/envelope/',
    summary: 'Report an internal error of the agent, as an envelope of the Sentry protocol',
    params: z.object({ project: z.string().min(1).max(64) }),
    body: z.string().max(256 * 1024),
    bodyContentType: 'application/x-sentry-envelope',
    bodyLimitBytes: 256 * 1024,
    response: z.object({ id: z.string() }),
  },
  listAgentErrors: {
    method: 'GET',
    path: '/v1/private-locations/{id}/agent-errors',
    summary: 'Internal errors of the agents of a private location, newest first',
    tag: 'Private locations',
    credential: 'account',
    params: z.object({ id: z.uuid() }),
    query: z.object(Paging),
    response: lazySchema(() => z.array(AgentError.schema)),
  },
});
