import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { agentPresentMs, runningSessions } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';

/** Whether anything can be measured at a location, and whether it can be trusted. */
export const locationStates = ['healthy', 'unhealthy', 'no-agent', 'never-seen'] as const;

export interface LocationHealth {
  readonly state: (typeof locationStates)[number];
  /** Since when, in epoch milliseconds; null where nothing says. */
  readonly since: number | null;
  readonly presentAgents: number;
}

export interface KnownOfLocation {
  /** Sessions that were seen lately and did not say goodbye. */
  readonly sessions: readonly AgentRow[];
  readonly lastSeen: number | undefined;
  readonly noAgentSince: number | null;
  /** Since when each thing lasts that agents find wrong there. */
  readonly lasting: readonly number[];
}

/** The agents that are there now: an idle one calls at least every 25 seconds. */
export function presentSessions(sessions: readonly AgentRow[], now: number): AgentRow[] {
  return runningSessions(sessions).filter(({ last_seen: lastSeen }) => lastSeen > now - agentPresentMs);
}

/** How a location is now. */
export function healthOf(known: KnownOfLocation, now: number): LocationHealth {
  const { sessions, lastSeen, noAgentSince, lasting } = known;
  const presentAgents = presentSessions(sessions, now).length;
  if (lastSeen === undefined) return { state: 'never-seen', since: noAgentSince, presentAgents };
  if (presentAgents === 0) return { state: 'no-agent', since: noAgentSince ?? lastSeen, presentAgents };
  if (lasting.length === 0) return { state: 'healthy', since: null, presentAgents };
  return { state: 'unhealthy', since: leastOf(lasting), presentAgents };
}
