import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { createKey } from '@picket/platform/ids/keys.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import { cancelledSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { noAgentSettings } from '@picket/protocol/agent/agent-settings.ts';
import {
  type LocationKey,
  type PrivateLocation,
  privateLocationRoutes,
} from '@picket/protocol/locations/private-location.ts';
import semver from 'semver';
import { agentSettingsOf, storedSettings } from '../agent-presence/location-settings.ts';
import {
  agentCapabilities,
  agentSeenWindowMs,
  isOutdated,
  runningSessions,
} from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';
import { reportedWithinMs } from './event-store.ts';
import { healthOf, type KnownOfLocation } from './health.ts';
import type { LocationKeyRow, PrivateLocationRow } from './tables.ts';

const maxKeys = 2;
const namesInMessage = 3;

/** Routes of private locations and their keys. */
export function privateLocationHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store, clock } = deps;
  const one = async (row: PrivateLocationRow): Promise<PrivateLocation> => {
    const [view] = await views(store, [row], clock.wallMs());
    if (!view) throw new Error('a location has no view');
    return view;
  };
  return handlersById(privateLocationRoutes, {
    async listPrivateLocations({ caller, query }) {
      const all = await views(store, await store.locations.listBehind(caller.accountId), clock.wallMs());
      if (query.versions) return all;
      return all.map(({ minAgentVersion: _lowest, runningAgents: _agents, ...view }) => view);
    },
    async createPrivateLocation({ caller, body }) {
      const now = clock.wallMs();
      const key = createKey('pl_');
      const row: PrivateLocationRow = {
        id: randomUUID(),
        account_id: caller.accountId,
        name: body.name,
        slug_name: body.slugName,
        icon: body.icon,
        proxy_url: body.proxyUrl,
        created: now,
        updated: null,
        no_agent_since: null,
        outdated_since: null,
        agent_settings: storedSettings(body.agentSettings),
      };
      try {
        await store.transaction(async (repositories) => {
          await repositories.accounts.lockAccount(row.account_id);
          await requireOwnSlug(repositories, row);
          await repositories.locations.insert(row);
          await repositories.locations.insertKey(row.id, key.keyHash, key.masked, now);
        });
      } catch (thrown) {
        if (!isUniqueViolation(thrown)) throw thrown;
        throw new AppError('CONFLICT', `There is a private location "${body.slugName}" already.`);
      }
      const view = await one(row);
      return { ...view, keys: view.keys.map((shown) => ({ ...shown, rawKey: key.rawKey })) };
    },
    async getPrivateLocation({ caller, params }) {
      return one(found(await store.locations.find(caller.accountId, params.id), named(params)));
    },
    async updatePrivateLocation({ caller, params, body }) {
      const row = await store.transaction(async (repositories) => {
        const stored = found(
          await repositories.locations.findForUpdate(caller.accountId, params.id),
          named(params),
        );
        if (body.slugName !== undefined && body.slugName !== stored.slug_name) {
          throw fieldError('payload', [
            { key: 'slugName', message: `cannot change: it is "${stored.slug_name}"` },
          ]);
        }
        const patch = {
          updated: clock.wallMs(),
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.icon === undefined ? {} : { icon: body.icon }),
          ...(body.proxyUrl === undefined ? {} : { proxy_url: body.proxyUrl }),
          ...(body.agentSettings === undefined ? {} : { agent_settings: storedSettings(body.agentSettings) }),
        };
        await repositories.locations.update({ account_id: caller.accountId, id: stored.id, ...patch });
        return { ...stored, ...patch };
      });
      // Waiting polls end, and bring the settings at once.
      if (body.agentSettings !== undefined) store.signals.send([{ kind: 'dismiss', locationId: row.id }]);
      return one(row);
    },
    async deletePrivateLocation({ caller, params }) {
      const cancelled = await store.transaction(async (repositories) => {
        const row = found(
          await repositories.locations.findForUpdate(caller.accountId, params.id),
          named(params),
        );
        const users = await repositories.checks.namesUsing(
          caller.accountId,
          row.slug_name,
          namesInMessage + 1,
        );
        if (users.length > 0) throw inUse(row.slug_name, users, 'checks');
        const groups = await repositories.groups.namesUsing(
          caller.accountId,
          row.slug_name,
          namesInMessage + 1,
        );
        if (groups.length > 0) throw inUse(row.slug_name, groups, 'check groups');
        const runs = await repositories.runs.cancelAtLocation(row.id, 'location-deleted', clock.wallMs());
        await repositories.refusedAgents.forgetLocation(row.id);
        await repositories.locations.delete(caller.accountId, row.id);
        return runs;
      });
      store.signals.send([...cancelledSignals(cancelled), { kind: 'dismiss', locationId: params.id }]);
    },
    async createPrivateLocationKey({ caller, params }) {
      const key = createKey('pl_');
      const row = await store.transaction(async (repositories) => {
        const location = found(
          await repositories.locations.findForUpdate(caller.accountId, params.id),
          named(params),
        );
        const active = await repositories.locations.keys([location.id]);
        if (active.length >= maxKeys) {
          throw new AppError(
            'CONFLICT',
            `The location has ${maxKeys} active keys, which is the maximum. Delete one first.`,
          );
        }
        return repositories.locations.insertKey(location.id, key.keyHash, key.masked, clock.wallMs());
      });
      return { ...keyView(row, undefined, []), rawKey: key.rawKey };
    },
    async deletePrivateLocationKey({ caller, params, query }) {
      await store.transaction(async (repositories) => {
        const row = found(
          await repositories.locations.findForUpdate(caller.accountId, params.id),
          named(params),
        );
        const keys = await repositories.locations.keys([row.id]);
        if (!keys.some(({ id }) => id === params.keyId)) {
          throw new AppError('NOT_FOUND', `The location has no key ${params.keyId}.`);
        }
        const agents = await repositories.locations.agents([row.id], clock.wallMs() - agentSeenWindowMs);
        const { length: agentCount } = runningSessions(agents);
        if (keys.length === 1 && agentCount > 0 && !query.force) throw lastKey(row.slug_name, agentCount);
        await repositories.locations.revokeKey(row.id, params.keyId, clock.wallMs());
        await repositories.refusedAgents.boundRevoked(row.id);
      });
      // Waiting polls with the revoked key must not lease anything; the others simply poll again.
      store.signals.send([{ kind: 'dismiss', locationId: params.id }]);
    },
  });
}

function named({ id }: { readonly id: string }): string {
  return `private location ${id}`;
}

function lastKey(slugName: string, agentCount: number): AppError {
  const agents = agentCount === 1 ? 'an agent runs' : `${agentCount} agents run`;
  return new AppError(
    'CONFLICT',
    `This is the last key of the private location "${slugName}", and ${agents} there: its checks would no longer run. Create another key and give it to the agents first, or delete this one with force=true.`,
  );
}

function inUse(slugName: string, users: readonly string[], kind: string): AppError {
  const named = users.slice(0, namesInMessage).map((name) => `"${name}"`);
  const more = users.length > namesInMessage ? ' and others' : '';
  return new AppError(
    'CONFLICT',
    `The private location "${slugName}" is used by the ${kind} ${named.join(', ')}${more}. Take it out of these ${kind} first.`,
  );
}

async function views(
  repositories: Pick<Repositories, 'locations' | 'locationEvents'>,
  rows: readonly PrivateLocationRow[],
  now: number,
): Promise<PrivateLocation[]> {
  const ids = rows.map((row) => row.id);
  const keys = Map.groupBy(await repositories.locations.keys(ids), (key) => key.location_id);
  const agents = Map.groupBy(
    await repositories.locations.agents(ids, now - agentSeenWindowMs),
    (agent) => agent.location_id,
  );
  const lastSeen = await repositories.locations.lastSeen(ids);
  const lastUsed = await repositories.locations.keysLastUsed(ids);
  const lasting = await repositories.locationEvents.lastingAt(ids, now - reportedWithinMs);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    slugName: row.slug_name,
    icon: row.icon,
    created_at: iso(row.created),
    updated_at: row.updated === null ? null : iso(row.updated),
    keys: (keys.get(row.id) ?? []).map((key) =>
      keyView(key, lastUsed.get(key.id), runningSessions(agents.get(row.id) ?? [])),
    ),
    proxyUrl: row.proxy_url,
    agentSettings: agentSettingsOf(row) ?? noAgentSettings,
    lastSeen: optionalIso(lastSeen.get(row.id)),
    noAgentSince: optionalIso(row.no_agent_since ?? undefined),
    agentsOutdatedSince: optionalIso(row.outdated_since ?? undefined),
    ...describeAgents(agents.get(row.id) ?? []),
    health: healthView(
      {
        sessions: agents.get(row.id) ?? [],
        lastSeen: lastSeen.get(row.id),
        noAgentSince: row.no_agent_since,
        lasting: (lasting.get(row.id) ?? []).map(({ started }) => started),
      },
      now,
    ),
  }));
}

function healthView(known: KnownOfLocation, now: number): PrivateLocation['health'] {
  const { since, ...health } = healthOf(known, now);
  return { ...health, since: since === null ? null : iso(since) };
}

function keyView(
  row: LocationKeyRow,
  lastUsed: number | undefined,
  running: readonly AgentRow[],
): LocationKey {
  return {
    id: row.id,
    rawKey: row.masked,
    maskedKey: row.masked,
    created_at: iso(row.created),
    updated_at: row.updated === null ? null : iso(row.updated),
    lastUsedAt: optionalIso(lastUsed),
    agents: [...new Set(running.filter((agent) => agent.key_id === row.id).map((agent) => agent.agent_id))],
  };
}

/** Agents of a location by version. */
export function describeAgents(
  sessions: readonly AgentRow[],
): Pick<PrivateLocation, 'agentCount' | 'minAgentVersion' | 'runningAgents'> {
  const running = runningSessions(sessions);
  const byVersion = [...Map.groupBy(running, (agent) => agent.version)].sort(([left], [right]) =>
    compareVersions(left, right),
  );
  return {
    agentCount: running.length,
    minAgentVersion: byVersion[0]?.[0] ?? null,
    runningAgents: byVersion.map(([version, agents]) => ({
      version,
      isOutdated: isOutdated(version),
      count: agents.length,
      agents: agents.map((agent) => ({
        id: agent.agent_id,
        lastSeenAt: iso(agent.last_seen),
        keyId: agent.key_id,
        ...ownFacts(agent),
      })),
    })),
  };
}

function ownFacts(agent: AgentRow) {
  const { backends, unavailable, runtimes, browsers, droppedResults } = agentCapabilities(agent);
  return { backends, unavailable, runtimes, browsers, droppedResults };
}

/** Orders versions; invalid versions come first. */
function compareVersions(left: string, right: string): number {
  const [leftVersion, rightVersion] = [semver.parse(left), semver.parse(right)];
  if (leftVersion && rightVersion) return leftVersion.compare(rightVersion);
  if (!leftVersion && !rightVersion) return left < right ? -1 : 1;
  return leftVersion ? 1 : -1;
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function optionalIso(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : iso(epochMs);
}

/**
 * Slugs that differ only in case would be confused by users and agent operators.
 *
 * @throws AppError CONFLICT
 */
async function requireOwnSlug(
  { locations }: Pick<Repositories, 'locations'>,
  { account_id: accountId, slug_name: slugName }: PrivateLocationRow,
): Promise<void> {
  const all = await locations.listBehind(accountId);
  const other = all.find((one) => one.slug_name.toLowerCase() === slugName.toLowerCase());
  if (other) throw new AppError('CONFLICT', `There is a private location "${other.slug_name}" already.`);
}
