import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { agentPresentMs } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';
import { canRun } from '../checks/warnings/warnings.ts';
import type { RunRow } from '../runs/tables.ts';

/** Longest wait of an on-demand run, however busy the agents are. */
export const longestWaitMs = 6 * 3_600_000;

/**
 * Renews the waits of on-demand runs while agents work through the runs before them, so that the last runs of a long
 * session get results, too. A run keeps waiting while an agent that can take it is present, and runs of its lane are in
 * progress at the location or have ended there since the last evaluation. From then on scheduled runs have priority:
 * see `claim` in lease-store.ts.
 *
 * @param outlived runs whose wait is over, locked.
 * @returns those that have waited for long enough.
 */
export async function withoutRenewedWaits(
  repositories: Pick<Repositories, 'leases'>,
  outlived: readonly RunRow[],
  agents: readonly AgentRow[],
  now: number,
): Promise<readonly RunRow[]> {
  const asked = outlived.filter((run) => isAsked(run) && now < run.created + longestWaitMs);
  const able = asked.filter((run) => agents.some((agent) => mayTake(agent, run, now)));
  if (able.length === 0) return outlived;
  const since = now - greatestOf(able.map(({ freshness_ms: freshnessMs }) => freshnessMs));
  const lanes = await repositories.leases.lanesAtWork(
    able.map(({ location_id: id }) => id ?? ''),
    { now, since },
  );
  const renewed = new Set(
    able.filter((run) => lanes.has(`${run.location_id} ${run.lane}`)).map(({ id }) => id),
  );
  await repositories.leases.renewWaits([...renewed], now);
  return outlived.filter(({ id }) => !renewed.has(id));
}

function isAsked(run: RunRow): boolean {
  return run.check_session_id !== null || run.test_session_id !== null;
}

function mayTake(agent: AgentRow, run: RunRow, now: number): boolean {
  const isThere = agent.location_id === run.location_id && agent.last_seen > now - agentPresentMs;
  return isThere && canRun(agent, { checkType: run.check_type, runtimeId: run.runtime_id });
}
