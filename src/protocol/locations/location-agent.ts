import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AgentBrowser } from '../agent/agent.ts';
import { AgentCondition } from '../agent/agent-condition.ts';
import { AppliedAgentSettings } from '../agent/agent-settings.ts';
import { EpochMs } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

/** Whether an agent is there, and if not, how it ended. */
export const agentStates = ['connected', 'silent', 'drained', 'lost', 'revoked'] as const;
export type AgentState = (typeof agentStates)[number];

export const LocationAgent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      state: z
        .enum(agentStates)
        .describe(
          'connected: it polls; silent: no call for 45 seconds; drained: it signed off; lost: no call for two minutes, without signing off; revoked: its key was revoked',
        ),
      version: z.string(),
      isOutdated: z.boolean().describe('Whether its major version is below that of the service'),
      platform: z.string(),
      firstSeenAt: z.iso.datetime(),
      lastSeenAt: z.iso.datetime(),
      leftAt: z.iso.datetime().nullable().describe('When it signed off'),
      keyId: z.string().nullable(),
      checkTypes: z.array(z.string()),
      backends: z.record(z.string(), z.string()).describe('Methods of check types on this agent, by type'),
      unavailable: z.record(z.string(), z.string()).describe('Why check types do not work there, by type'),
      runtimes: z.array(z.string()),
      browsers: z
        .array(AgentBrowser.schema)
        .describe('Browsers besides Chromium that its scripts and suites can open'),
      droppedResults: z.int(),
      trustedKeys: z
        .array(z.object({ id: z.string(), notAfter: EpochMs.nullable() }))
        .nullable()
        .describe('Keys whose signed checks it runs; null: it runs all checks'),
      condition: AgentCondition.schema
        .nullable()
        .describe('As of its last recorded claim; null if the agent is older than this field'),
      settings: AppliedAgentSettings.schema
        .nullable()
        .describe(
          'Settings of its location that it applies; null if the agent is older than these, and ignores them',
        ),
    })
    .meta({ id: 'LocationAgent' }),
);
export type LocationAgent = z.output<typeof LocationAgent.schema>;

export const RefusedAgent = lazySchema(() =>
  z
    .object({
      reason: z
        .enum(['revoked-key', 'account-key'])
        .describe(
          'revoked-key: it uses a revoked key of the location; account-key: it uses an API key of the account',
        ),
      maskedKey: z.string(),
      agentId: z.string().nullable().describe('null if the agent is older than this field'),
      version: z.string().nullable(),
      address: z.string(),
      firstTriedAt: z.iso.datetime(),
      lastTriedAt: z.iso.datetime(),
      tries: z.int().describe('Recorded tries: at most one in ten seconds'),
    })
    .meta({ id: 'RefusedAgent' }),
);
export type RefusedAgent = z.output<typeof RefusedAgent.schema>;

const FleetLocation = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      slugName: z.string(),
      agents: z
        .object({
          connected: z.int(),
          silent: z.int(),
          drained: z.int(),
          lost: z.int(),
          revoked: z.int(),
          refused: z.int(),
        })
        .describe('Agents by state, of the last 24 hours'),
      versions: z.array(z.object({ version: z.string(), count: z.int(), isOutdated: z.boolean() })),
      queue: z.object({
        queued: z.int(),
        inFlight: z.int(),
        waitingSince: z.iso.datetime().nullable().describe('Since when the longest-waiting run waits'),
      }),
      checks: z.int().describe('Checks that run there'),
      lastSeenAt: z.iso.datetime().nullable(),
    })
    .meta({ id: 'FleetLocation' }),
);
export type FleetLocation = z.output<typeof FleetLocation.schema>;

export const locationAgentRoutes = defineRoutes('Private locations', 'account', {
  listFleet: {
    method: 'GET',
    path: '/v1/private-locations/fleet',
    summary:
      'All private locations with their agents, queues and checks, and agents with a key of no location',
    response: lazySchema(() =>
      z
        .object({ locations: z.array(FleetLocation.schema), refused: z.array(RefusedAgent.schema) })
        .meta({ id: 'Fleet' }),
    ),
  },
  listLocationAgents: {
    method: 'GET',
    path: '/v1/private-locations/{id}/agents',
    summary: 'Agents of a private location in the last 7 days: connected, gone and refused',
    params: z.object({ id: z.uuid() }),
    response: lazySchema(() =>
      z
        .object({ agents: z.array(LocationAgent.schema), refused: z.array(RefusedAgent.schema) })
        .meta({ id: 'LocationAgents' }),
    ),
  },
});
