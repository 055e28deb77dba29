import { AppError } from '@picket/lib/errors.ts';
import { endedAt } from '@picket/platform/store/days/ended-day.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type SlotReason, slotReasons } from '@picket/protocol/runs/slot.ts';
import { needOfText } from '../agent-presence/needed-browsers.ts';
import { agentCapabilities, agentCheckTypes, agentPresentMs } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';
import type { EffectiveCheck } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { locationsOf } from '../checks/timing/slots.ts';
import { canRun, isRegion, type Need, typeWithRuntime } from '../checks/warnings/warnings.ts';
import { presentSessions } from '../locations/health.ts';
import type { MissedReason, RunRow } from '../runs/tables.ts';

/** Private locations of an account, and the agents present now. */
export interface AgentsNow {
  /** Location id by slug. */
  readonly ids: ReadonlyMap<string, string>;
  readonly at: (location: string) => readonly AgentRow[];
}

export async function agentsNow(
  repositories: Pick<Repositories, 'locations'>,
  accountId: string,
  now: number,
): Promise<AgentsNow> {
  const bySlug = await repositories.locations.idsBySlug([accountId]);
  const ids = new Map([...bySlug].map(([key, id]) => [key.slice(accountId.length + 1), id]));
  const sessions = await repositories.locations.agents([...ids.values()], now - agentPresentMs);
  const byLocation = Map.groupBy(presentSessions(sessions, now), (agent) => agent.location_id);
  return { ids, at: (location) => byLocation.get(ids.get(location) ?? '') ?? [] };
}

/** Locations of an on-demand run: all if the check runs in parallel, else the first with an agent that can run it. */
export function locationsNow(check: EffectiveCheck, agents: AgentsNow): string[] {
  const locations = locationsOf(check.definition);
  if (check.definition.runParallel === true) return locations;
  const need = needOfRun(check);
  const able = locations.find((location) => agents.at(location).some((agent) => canRun(agent, need)));
  const location = able ?? locations.find((name) => agents.at(name).length > 0) ?? locations[0];
  return location === undefined ? [] : [location];
}

/**
 * Ends runs that no agent can take now before they are stored, so that callers do not wait in vain.
 *
 * @throws AppError CANNOT_RUN_NOW if no agent can take any of them.
 */
export function withUnableEnded(runs: readonly RunRow[], agents: AgentsNow, now: number): RunRow[] {
  const problems = new Set<string>();
  const ended = runs.map((run): RunRow => {
    const here = agents.at(run.location);
    const need = { checkType: run.check_type, runtimeId: run.runtime_id };
    if (here.some((agent) => canRun(agent, need))) return run;
    problems.add(problemAt(run.location, need, here));
    const reason: MissedReason = here.length === 0 ? 'no-agent' : 'unsupported';
    return { ...run, state: 'missed', reason, ...endedAt(now) };
  });
  if (ended.some(({ state }) => state === 'queued') || runs.length === 0) return ended;
  const [first, second, third, ...others] = problems;
  const shown = [first, second, third].filter((problem) => problem !== undefined);
  const more = others.length === 0 ? '' : ` And ${others.length} more of this kind.`;
  const what = runs.length === 1 ? 'it' : `any of the ${runs.length} runs`;
  throw new AppError('CANNOT_RUN_NOW', `No agent can run ${what} now. ${shown.join(' ')}${more}`);
}

/** Why a run has no result, in words; null if it has one, or is unfinished. */
export function whyUnmeasured(run: RunRow): string | null {
  if (run.state !== 'missed') return null;
  const { location, reason } = run;
  switch (reason as SlotReason | null) {
    case 'no-agent':
      return `No agent of the location ${location} took the run. Start one, or look at its log.`;
    case 'unsupported':
      return `No agent of the location ${location} can run checks of ${typeWithRuntime({ checkType: run.check_type, runtimeId: run.runtime_id })}.`;
    case 'over-capacity':
      return `The agents of the location ${location} were too busy to take the run in time.`;
    case 'expired':
      return 'The run returned to the queue, and no agent took it again in time.';
    case 'agent-lost':
      return 'The run was abandoned: two agents were lost while they ran it.';
    case null:
      return 'The run was missed.';
    default:
      return slotReasons[reason as SlotReason] ?? 'The run was missed.';
  }
}

function needOfRun(check: EffectiveCheck<Pick<Check, 'checkType'>>): Need {
  return { checkType: check.checkType, runtimeId: check.neededRuntimeId };
}

/** Missing prerequisite of a run at a location. */
function problemAt(location: string, need: Need, here: readonly AgentRow[]): string {
  if (here.length === 0) {
    return isRegion(location)
      ? `No agent serves the location ${location}: agents belong to private locations.`
      : `No agent of the private location ${location} is connected. Start one with a key of the location.`;
  }
  const [said] = here.flatMap((agent) => whyNot(agent, need) ?? []);
  return `No agent of the private location ${location} can run checks of ${typeWithRuntime(need)}.${said === undefined ? '' : ` ${said}`}`;
}

function whyNot(agent: AgentRow, need: Need): string | undefined {
  const { unavailable, runtimes, browsers } = agentCapabilities(agent);
  const said = unavailable[need.checkType];
  if (said !== undefined) return `${agent.agent_id} says: ${said.replace(/\.$/, '')}.`;
  if (!agentCheckTypes(agent.check_types).includes(need.checkType) || need.runtimeId === null)
    return undefined;
  const needed = needOfText(need.runtimeId);
  const list = browsers.map(({ name, version }) => `${name} ${version}`).join(', ');
  const parts = [
    ...(needed.runtimeId === null
      ? []
      : [runtimes.length === 0 ? 'no runtime' : `the runtimes ${runtimes.join(', ')}`]),
    ...(needed.browsers.length === 0 ? [] : [list === '' ? 'Chromium alone' : list]),
  ];
  return `${agent.agent_id} has ${parts.join(', and ')}.`;
}
