import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { type Conclusion, type EvidenceItem, shown } from '../conclusion.ts';
import type { AnalysisInput } from '../run-view/case.ts';
import { changeItems, relevantChanges } from './change.ts';
import { sentence } from './location.ts';

/** Errors of agents: they say nothing about the target. */
export function ownError({ run, owner }: AnalysisInput): Conclusion | undefined {
  if (owner !== 'agent') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'agent',
    classification: 'MONITORING_ERROR',
    cause: [
      'The agent could not measure, so the target was not judged.',
      meaningOf(run.code),
      sentence(run.message),
    ]
      .filter((part) => part !== '')
      .join(' '),
    impact: 'Unknown: the target was not tested.',
    next: 'Run `picket doctor` on the agents of the location, and read their error reports.',
    evidence: [shown(run.message, 'error')],
  };
}

/** Check definitions that cannot be run. */
export function unusableDefinition(given: AnalysisInput): Conclusion | undefined {
  const { run, owner, verdict } = given;
  if (owner !== 'config' || run.code === 'EGRESS_DENIED') return undefined;
  const [change] = relevantChanges(given);
  const since = change ? ` It was changed at ${change.at}, and passed before.` : '';
  return {
    certainty: 'CERTAIN',
    owner: verdict.failing,
    classification: 'CONFIGURATION_ERROR',
    cause: `The ${verdict.failing === 'script' ? 'script' : 'definition'} of the check cannot be run. ${sentence(run.message)}${since}`,
    impact: 'None: the target was not contacted.',
    next: change
      ? 'Revert the change or complete it; the history of the check shows the earlier definition.'
      : `Correct the definition: ${meaningOf(run.code)}`,
    evidence: [shown(run.message, 'error'), ...changeItems(given)],
  };
}

export function egressRefusal({ run }: AnalysisInput): Conclusion | undefined {
  if (run.code !== 'EGRESS_DENIED') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'check',
    classification: 'CONFIGURATION_ERROR',
    cause: `The check requests an address that the egress policy of the agents at ${run.result.location} does not allow. ${sentence(run.message)}`,
    impact: 'None: the target was not contacted.',
    next: 'Use another address, or allow this one in the settings of the agents (EGRESS_ALLOW, EGRESS_DENY).',
    evidence: [shown(run.message, 'error')],
  };
}

/** The agents of the location run only signed checks. */
export function distrustedCheck({ run }: AnalysisInput): Conclusion | undefined {
  if (run.code !== 'CHECK_NOT_TRUSTED') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'location',
    classification: 'CONFIGURATION_ERROR',
    cause: `The agents of ${run.result.location} run only signed checks, and refused this one. ${sentence(run.message)}`,
    impact: 'Unknown: the target was not tested.',
    next: 'Sign the check with `picket deploy --sign` and a key that the agents trust, or undo the change that was not signed.',
    evidence: [shown(run.message, 'error')],
  };
}

export function maintenanceItems({ run, evidence }: AnalysisInput): EvidenceItem[] {
  return evidence.maintenance
    .slice(0, 1)
    .map((name) => shown(`In effect at ${run.result.startedAt}: ${name}`, 'maintenance'));
}

/** A maintenance window is in effect. */
export function maintenance(given: AnalysisInput): Conclusion | undefined {
  const { run, evidence } = given;
  const [name] = evidence.maintenance;
  if (name === undefined) return undefined;
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The maintenance window "${name}" is in effect. ${sentence(run.message)}`,
    impact: 'As announced with the maintenance window.',
    next: 'Wait for the end of the maintenance; failures after it have another cause.',
    evidence: [...maintenanceItems(given), shown(run.message, 'error')],
  };
}

export function missedPing({ run, before }: AnalysisInput): Conclusion | undefined {
  if (run.code !== 'PING_MISSED') return undefined;
  const last = before
    ? ` The last ping arrived at ${before.result.startedAt}.`
    : ' No ping has ever arrived.';
  return {
    certainty: 'OPEN',
    owner: 'open',
    classification: 'UNKNOWN',
    cause: `No ping arrived in time.${last} The job did not run, failed before it sent the ping, or could not reach this service.`,
    impact: 'The job may not have run or finished.',
    next: 'Check whether the job ran, and whether its host can reach the ping URL.',
    evidence: [shown(run.message, 'error'), ...(before ? [shown('The last ping', 'lastPass')] : [])],
  };
}

function meaningOf(code: string): string {
  return isFailureCode(code) ? failureCatalogue[code].meaning : '';
}
