import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { agentPresentMs, runningSessions } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';

/** Whether a location can measure anything, and whether its measurements can be trusted. */
export const locationStates = ['healthy', 'unhealthy', 'no-agent', 'never-seen'] as const;

export interface LocationHealth {
  readonly state: (typeof locationStates)[number];
  /** Start of the state in epoch milliseconds; null if unknown. */
  readonly since: number | null;
  readonly presentAgents: number;
}

export interface KnownOfLocation {
  /** Sessions that were seen recently and have not signed off. */
  readonly sessions: readonly AgentRow[];
  readonly lastSeen: number | undefined;
  readonly noAgentSince: number | null;
  /** Start of each lasting problem that agents report there. */
  readonly lasting: readonly number[];
}

/** Agents that are present now: an idle one calls at least every 25 seconds. */
export function presentSessions(sessions: readonly AgentRow[], now: number): AgentRow[] {
  return runningSessions(sessions).filter(({ last_seen: lastSeen }) => lastSeen > now - agentPresentMs);
}

/** Current health of a location. */
export function healthOf(known: KnownOfLocation, now: number): LocationHealth {
  const { sessions, lastSeen, noAgentSince, lasting } = known;
  const presentAgents = presentSessions(sessions, now).length;
  if (lastSeen === undefined) return { state: 'never-seen', since: noAgentSince, presentAgents };
  if (presentAgents === 0) return { state: 'no-agent', since: noAgentSince ?? lastSeen, presentAgents };
  if (lasting.length === 0) return { state: 'healthy', since: null, presentAgents };
  return { state: 'unhealthy', since: leastOf(lasting), presentAgents };
}
