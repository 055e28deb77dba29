import { leastOf } from '@picket/lib/bounds/extremes.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import {
  type AgentState,
  agentStates,
  type FleetLocation,
  type LocationAgent,
  locationAgentRoutes,
  type RefusedAgent,
} from '@picket/protocol/locations/location-agent.ts';
import { agentCapabilities, agentCheckTypes, isOutdated } from '../../agent-presence/presence.ts';
import type { RefusedAgentRow } from '../tables.ts';
import { type AgentInState, agentsInStates } from './agent-states.ts';

const dayMs = 86_400_000;
/** Sessions are kept that long. */
const shownMs = 7 * dayMs;

/** Routes of the agents of private locations, present and past. */
export function locationAgentHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(locationAgentRoutes, {
    async listLocationAgents({ caller, params }) {
      const now = clock.wallMs();
      const { id } = found(
        await store.locations.find(caller.accountId, params.id),
        `private location ${params.id}`,
      );
      const [sessions, keys, refused] = await Promise.all([
        store.locations.sessions([id], now - shownMs),
        store.locations.keys([id]),
        store.refusedAgents.list(caller.accountId, now - shownMs, id),
      ]);
      const agents = agentsInStates(sessions, new Set(keys.map((key) => key.id)), now);
      return { agents: agents.map(agentView), refused: refused.map(refusedView) };
    },
    async listFleet({ caller }) {
      const now = clock.wallMs();
      const { accountId } = caller;
      const rows = await store.locations.listBehind(accountId);
      const ids = rows.map(({ id }) => id);
      const [sessions, keys, refused, queues, checks, lastSeen] = await Promise.all([
        store.locations.sessions(ids, now - dayMs),
        store.locations.keys(ids),
        store.refusedAgents.list(accountId, now - dayMs),
        store.locationMinutes.queues(now, accountId),
        store.locations.checkCounts(accountId),
        store.locations.lastSeen(ids),
      ]);
      const activeKeys = new Set(keys.map(({ id }) => id));
      const sessionsOf = Map.groupBy(sessions, (session) => session.location_id);
      const refusedOf = Map.groupBy(refused, (one) => one.location_id);
      const queuesOf = Map.groupBy(queues, ({ locationId }) => locationId);
      const locations = rows.map(({ id, name, slug_name: slugName }): FleetLocation => {
        const agents = agentsInStates(sessionsOf.get(id) ?? [], activeKeys, now);
        const own = queuesOf.get(id) ?? [];
        const waiting = own.flatMap(({ waitingSince }) => waitingSince ?? []);
        return {
          id,
          name,
          slugName,
          agents: { ...countsOf(agents), refused: refusedOf.get(id)?.length ?? 0 },
          versions: versionsOf(agents),
          queue: {
            queued: own.reduce((sum, { queued }) => sum + queued, 0),
            inFlight: own.reduce((sum, { inFlight }) => sum + inFlight, 0),
            waitingSince: waiting.length === 0 ? null : iso(leastOf(waiting)),
          },
          checks: checks.get(slugName) ?? 0,
          lastSeenAt: lastSeen.has(id) ? iso(lastSeen.get(id) ?? 0) : null,
        };
      });
      return { locations, refused: (refusedOf.get('') ?? []).map(refusedView) };
    },
  });
}

function agentView({ session, state }: AgentInState): LocationAgent {
  return {
    id: session.agent_id,
    state,
    version: session.version,
    isOutdated: isOutdated(session.version),
    platform: session.platform,
    firstSeenAt: iso(session.first_seen),
    lastSeenAt: iso(session.last_seen),
    leftAt: optionalIso(session.left_at),
    keyId: session.key_id,
    checkTypes: [...agentCheckTypes(session.check_types)],
    ...agentCapabilities(session),
  };
}

function refusedView(row: RefusedAgentRow): RefusedAgent {
  return {
    reason: row.location_id === '' ? 'account-key' : 'revoked-key',
    maskedKey: row.masked,
    agentId: row.agent_id === '' ? null : row.agent_id,
    version: row.version === '' ? null : row.version,
    address: row.address,
    firstTriedAt: iso(row.first_tried),
    lastTriedAt: iso(row.last_tried),
    tries: row.tries,
  };
}

function countsOf(agents: readonly AgentInState[]): Record<AgentState, number> {
  const counts = Object.fromEntries(agentStates.map((state) => [state, 0])) as Record<AgentState, number>;
  for (const { state } of agents) counts[state] += 1;
  return counts;
}

function versionsOf(agents: readonly AgentInState[]): FleetLocation['versions'] {
  const running = agents.filter(({ state }) => state === 'connected' || state === 'silent');
  const byVersion = Map.groupBy(running, ({ session }) => session.version);
  return [...byVersion].map(([version, { length: count }]) => ({
    version,
    count,
    isOutdated: isOutdated(version),
  }));
}
