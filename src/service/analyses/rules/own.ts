import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { type Conclusion, type EvidenceItem, shown } from '../conclusion.ts';
import type { Case } from '../seen/case.ts';
import { changeItems, relevantChanges } from './change.ts';
import { sentence } from './location.ts';

/** Errors of agents: they say nothing of the target. */
export function ownError({ run, owner }: Case): Conclusion | undefined {
  if (owner !== 'agent') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'agent',
    classification: 'MONITORING_ERROR',
    cause: [
      'The agent could not measure, so nothing is known of the target.',
      meaningOf(run.code),
      sentence(run.message),
    ]
      .filter((part) => part !== '')
      .join(' '),
    impact: 'None by this: users may or may not be concerned, nobody has looked.',
    next: 'Look at the agents of the location: `picket doctor` examines them, and their error reports say more.',
    evidence: [shown(run.message, 'error')],
  };
}

/** Definitions of checks that cannot be run. */
export function unusableDefinition(given: Case): Conclusion | undefined {
  const { run, owner, verdict } = given;
  if (owner !== 'config' || run.code === 'EGRESS_DENIED') return undefined;
  const [change] = relevantChanges(given);
  const since = change ? ` It was changed at ${change.at}, and passed before.` : '';
  return {
    certainty: 'CERTAIN',
    owner: verdict.failing,
    classification: 'CONFIGURATION_ERROR',
    cause: `The ${verdict.failing === 'script' ? 'script' : 'definition'} of the check cannot be run. ${sentence(run.message)}${since}`,
    impact: 'None by this: the target was not asked.',
    next: change
      ? 'Take the change back or complete it; the history of the check shows what was there before.'
      : `Correct the definition: ${meaningOf(run.code)}`,
    evidence: [shown(run.message, 'error'), ...changeItems(given)],
  };
}

export function egressRefusal({ run }: Case): Conclusion | undefined {
  if (run.code !== 'EGRESS_DENIED') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'check',
    classification: 'CONFIGURATION_ERROR',
    cause: `The check asks for an address that the egress policy of the agents at ${run.result.location} does not allow. ${sentence(run.message)}`,
    impact: 'None by this: the target was not asked.',
    next: 'Ask another address, or allow this one in the settings of the agents (EGRESS_ALLOW, EGRESS_DENY).',
    evidence: [shown(run.message, 'error')],
  };
}

export function maintenanceItems({ run, evidence }: Case): EvidenceItem[] {
  return evidence.maintenance
    .slice(0, 1)
    .map((name) => shown(`In effect at ${run.result.startedAt}: ${name}`, 'maintenance'));
}

/** A maintenance window that is in effect. */
export function maintenance(given: Case): Conclusion | undefined {
  const { run, evidence } = given;
  const [name] = evidence.maintenance;
  if (name === undefined) return undefined;
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The maintenance window "${name}" is in effect. ${sentence(run.message)}`,
    impact: 'What the maintenance announces.',
    next: 'Wait for the end of the maintenance; what fails after it has another cause.',
    evidence: [...maintenanceItems(given), shown(run.message, 'error')],
  };
}

export function missedPing({ run, before }: Case): Conclusion | undefined {
  if (run.code !== 'PING_MISSED') return undefined;
  const last = before ? ` The last one came at ${before.result.startedAt}.` : ' None has ever come.';
  return {
    certainty: 'OPEN',
    owner: 'open',
    classification: 'UNKNOWN',
    cause: `No ping came in time.${last} Whether the job did not run, failed on its way, or could not reach this service, a missing ping does not tell.`,
    impact: 'What the job does may not have been done.',
    next: 'Look whether the job ran, and whether its host reaches the ping address.',
    evidence: [shown(run.message, 'error'), ...(before ? [shown('The last ping', 'lastPass')] : [])],
  };
}

function meaningOf(code: string): string {
  return isFailureCode(code) ? failureCatalogue[code].meaning : '';
}
