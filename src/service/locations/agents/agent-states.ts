import type { AgentState } from '@picket/protocol/locations/location-agent.ts';
import { agentPresentMs, agentSeenWindowMs, runningSessions } from '../../agent-presence/presence.ts';
import type { AgentRow } from '../../agent-presence/tables.ts';

export interface AgentInState {
  readonly session: AgentRow;
  readonly state: AgentState;
}

/**
 * States of the agents of a location: running ones, then of each other agent the last session. A session that a later
 * one of the same agent replaced is not an agent of its own.
 */
export function agentsInStates(
  sessions: readonly AgentRow[],
  activeKeys: ReadonlySet<string>,
  now: number,
): AgentInState[] {
  const isActive = ({ key_id: keyId }: AgentRow) => keyId === null || activeKeys.has(keyId);
  const recent = sessions.filter(
    (one) => one.left_at === null && one.last_seen >= now - agentSeenWindowMs && isActive(one),
  );
  const running = runningSessions(recent);
  const known = new Set(running.map(({ agent_id: agentId }) => agentId));
  const gone: AgentInState[] = [];
  for (const session of sessions.toSorted((left, right) => right.last_seen - left.last_seen)) {
    if (known.has(session.agent_id)) continue;
    known.add(session.agent_id);
    gone.push({
      session,
      state: session.left_at === null ? (isActive(session) ? 'lost' : 'revoked') : 'drained',
    });
  }
  return [
    ...running.map(
      (session): AgentInState => ({
        session,
        state: session.last_seen > now - agentPresentMs ? 'connected' : 'silent',
      }),
    ),
    ...gone,
  ];
}
