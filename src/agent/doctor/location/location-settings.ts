import {
  concurrencyFields,
  type SentAgentSettings,
  severityOf,
} from '@picket/protocol/agent/agent-settings.ts';
import type { AgentSettings } from '../../config.ts';
import type { Examination } from '../examination.ts';
import { ok, skipped, type Verdict, warning } from '../examination.ts';

const fix = 'Change the setting at the location (agentSettings), or the variable of this agent.';

/** Settings that the location asks of this agent, and those of them that the agent's own environment does not permit. */
export const locationSettings: Examination = {
  name: 'location-settings',
  needs: ['key'],
  async examine(patient) {
    const { attitude } = await patient.contact();
    if (attitude.kind !== 'known') return skipped('not examined: see protocol');
    const { agentSettings } = attitude.answer;
    if (agentSettings === undefined) return skipped('the service is older: it does not tell them here');
    if (agentSettings === null) return ok('the location asks nothing: the environment alone decides');
    return judgeSettings(agentSettings, patient.settings);
  },
};

/** @param own the settings of the environment, which are the upper bound. */
export function judgeSettings(
  asked: SentAgentSettings,
  own: Pick<AgentSettings, 'checkTypes' | 'laneSizes' | 'logLevel'>,
): Verdict[] {
  return [
    ...typesVerdict(asked, own.checkTypes),
    ...lanesVerdict(asked, own.laneSizes),
    ...levelVerdict(asked, own.logLevel),
    ...(asked.isDraining
      ? [warning('the agent takes no new runs: the location drains', `End the drain: ${fix}`, 'isDraining')]
      : []),
  ];
}

function typesVerdict({ checkTypes: asked }: SentAgentSettings, own: readonly string[]): Verdict[] {
  if (asked.length === 0) return [];
  const permitted = asked.filter((type) => own.includes(type));
  const refused = asked.filter((type) => !own.includes(type));
  const detail = permitted.length === 0 ? 'none: the agent runs nothing' : permitted.join(', ');
  if (refused.length === 0) return [ok(detail, 'checkTypes')];
  return [warning(`${detail}; refused by CHECK_TYPES: ${refused.join(', ')}`, fix, 'checkTypes')];
}

const laneVariables = { probe: 'PROBE_CONCURRENCY', script: 'JOB_CONCURRENCY' } as const;

function lanesVerdict(asked: SentAgentSettings, own: AgentSettings['laneSizes']): Verdict[] {
  return (['probe', 'script'] as const).flatMap((lane) => {
    const field = concurrencyFields[lane];
    const wanted = asked[field];
    if (wanted === null) return [];
    if (wanted <= own[lane]) return [ok(`${wanted} at the same time`, field)];
    return [warning(`${own[lane]}: ${wanted} is refused by ${laneVariables[lane]}`, fix, field)];
  });
}

function levelVerdict({ logLevel: asked }: SentAgentSettings, own: AgentSettings['logLevel']): Verdict[] {
  if (asked === null) return [];
  if (severityOf(asked) >= severityOf(own)) return [ok(asked, 'logLevel')];
  return [warning(`${own}: ${asked} is refused by LOG_LEVEL`, fix, 'logLevel')];
}
