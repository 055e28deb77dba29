import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AgentBrowser } from '../agent/agent.ts';
import { LocationAgentSettings } from '../agent/agent-settings.ts';
import { ManagedFields } from '../http/managed-fields.ts';
import { QueryBoolean } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';

/** A slug that cannot be confused with a data-center region (check model 4.5). */
const slugPattern =
  /^((?!((us(-gov)?|ap|ca|cn|eu|sa|af|me)-(central|(north|south)?(east|west)?)-\d+))[a-zA-Z0-9-]{1,30})$/;

const LocationKey = lazySchema(() =>
  z.object({
    id: z.string(),
    rawKey: z.string().describe('The full key only in the response that creates it, masked afterwards'),
    maskedKey: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe('When an agent last used the key; null: never'),
    agents: z.array(z.string()).describe('Ids of the agents that used the key in the last two minutes'),
  }),
);
export type LocationKey = z.output<typeof LocationKey.schema>;

/** A private location with its keys and its recently seen agents (spec.md "Private location"). */
export const PrivateLocation = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      slugName: z.string(),
      icon: z.string(),
      ...ManagedFields,
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
      keys: z.array(LocationKey.schema),
      proxyUrl: z.string().nullable(),
      agentSettings: LocationAgentSettings.schema,
      lastSeen: z.iso.datetime().nullable(),
      noAgentSince: z.iso
        .datetime()
        .nullable()
        .describe(
          'Due time of the first slot missed because no agent is connected; null while an agent is connected',
        ),
      agentsOutdatedSince: z.iso
        .datetime()
        .nullable()
        .describe(
          'Since when agents have an older major version than the service; null: none has, or not for an hour yet',
        ),
      agentCount: z.int().describe('Agents that were seen in the last two minutes and did not sign off'),
      health: z.object({
        state: z
          .enum(['healthy', 'unhealthy', 'no-agent', 'never-seen'])
          .describe(
            'no-agent: no agent is connected, or none has polled for 45 seconds; unhealthy: an agent reported a problem',
          ),
        since: z.iso.datetime().nullable(),
        presentAgents: z.int().describe('Connected agents'),
      }),
      minAgentVersion: z.string().nullable(),
      runningAgents: z.array(
        z.object({
          version: z.string(),
          isOutdated: z.boolean(),
          count: z.int(),
          agents: z.array(
            z.object({
              id: z.string(),
              lastSeenAt: z.iso.datetime(),
              keyId: z.string().nullable().describe('Location key of the agent'),
              backends: z
                .record(z.string(), z.string())
                .describe('Backends of check types on this agent, by type'),
              unavailable: z
                .record(z.string(), z.string())
                .describe('Why check types are unavailable on this agent, by type'),
              runtimes: z.array(z.string()).describe('Runtimes whose packages it has for scripts'),
              browsers: z
                .array(AgentBrowser.schema)
                .describe('Browsers besides Chromium that its scripts and suites can open'),
              droppedResults: z
                .int()
                .describe(
                  'Results that the agent dropped since its start, because its spool was full or they were too old',
                ),
            }),
          ),
        }),
      ),
    })
    .meta({ id: 'PrivateLocation' }),
);
export type PrivateLocation = z.output<typeof PrivateLocation.schema>;

/** A private location as the list shows it. */
const ListedPrivateLocation = lazySchema(() =>
  PrivateLocation.schema.partial({ minAgentVersion: true, runningAgents: true }).meta({
    id: 'ListedPrivateLocation',
  }),
);

const name = z.string().min(1).max(255);
const icon = z.string().min(1).max(64);
const proxyUrl = z
  .string()
  .max(2048)
  .regex(/^((https?|socks5h?):\/\/\S+|\{\{.+\}\}\S*)$/, 'must start with http://, https:// or socks5://')
  .nullable()
  .describe(
    'Proxy for requests of checks: http:// and https:// for API checks, URL and WebSocket monitors and scripts, socks5:// for TCP, SSL and gRPC monitors, too; may contain credentials and {{VARIABLES}}',
  );

const agentSettingsText =
  'Settings that the location asks of its agents, each within its own environment; agents older than this field ignore it';

export const PrivateLocationInput = lazySchema(() =>
  z
    .object({
      name,
      slugName: z
        .string()
        .regex(slugPattern, 'must be 1 to 30 letters, digits or dashes, and not look like a region'),
      icon: icon.default('location'),
      proxyUrl: proxyUrl.default(null),
      agentSettings: LocationAgentSettings.schema.prefault({}).describe(agentSettingsText),
    })
    .meta({ id: 'PrivateLocationInput' }),
);

export const PrivateLocationPatch = lazySchema(() =>
  z
    .object({
      name: name.optional(),
      slugName: z.string().optional().describe('Immutable: omit it or repeat the current value'),
      icon: icon.optional(),
      proxyUrl: proxyUrl.optional(),
      agentSettings: LocationAgentSettings.schema
        .optional()
        .describe(`${agentSettingsText}; replaced as a whole`),
    })
    .meta({ id: 'PrivateLocationPatch' }),
);
const params = z.object({ id: z.uuid() });

export const privateLocationRoutes = defineRoutes('Private locations', 'account', {
  listPrivateLocations: {
    method: 'GET',
    path: '/v1/private-locations',
    summary: 'All private locations of the account',
    query: lazySchema(() =>
      z.object({
        versions: QueryBoolean.default(false).describe(
          'Return the agents of each location in `minAgentVersion` and `runningAgents`',
        ),
      }),
    ),
    response: lazySchema(() => z.array(ListedPrivateLocation.schema)),
  },
  createPrivateLocation: {
    method: 'POST',
    path: '/v1/private-locations',
    otherErrors: [409],
    summary: 'Create a private location and its first key',
    body: PrivateLocationInput,
    success: created,
    response: PrivateLocation,
  },
  getPrivateLocation: {
    method: 'GET',
    path: '/v1/private-locations/{id}',
    summary: 'One private location',
    params,
    response: PrivateLocation,
  },
  updatePrivateLocation: {
    method: 'PUT',
    path: '/v1/private-locations/{id}',
    summary: 'Change the name, icon or proxy of a private location, or what it asks of its agents',
    params,
    body: PrivateLocationPatch,
    response: PrivateLocation,
  },
  deletePrivateLocation: {
    method: 'DELETE',
    path: '/v1/private-locations/{id}',
    otherErrors: [409],
    summary: 'Delete a private location that no check uses',
    params,
  },
  createPrivateLocationKey: {
    method: 'POST',
    path: '/v1/private-locations/{id}/keys',
    otherErrors: [409],
    summary: 'Create a key; at most two are active',
    params,
    success: created,
    response: lazySchema(() => LocationKey.schema.meta({ id: 'PrivateLocationKey' })),
  },
  deletePrivateLocationKey: {
    method: 'DELETE',
    path: '/v1/private-locations/{id}/keys/{keyId}',
    otherErrors: [409],
    summary: 'Revoke a key; its agents stop leasing runs',
    params: z.object({ id: z.uuid(), keyId: z.uuid() }),
    query: lazySchema(() =>
      z.object({
        force: QueryBoolean.default(false).describe('Revoke the last key even if agents use it'),
      }),
    ),
  },
});
