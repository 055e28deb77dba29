import { type Conclusion, type EvidenceItem, shown } from '../conclusion.ts';
import type { ChangeFacts } from '../evidence.ts';
import { type AnalysisInput, failedPart, impactOf } from '../run-view/case.ts';
import { sentence } from './location.ts';

/** Fields of a check that do not affect its runs. */
const idleFields =
  /^(name|tags|description|muted|activated|frequency|frequencyOffset|frequencyWhileFailing|activeHours|schedule|alert\w*|useGlobalAlertSettings|retryStrategy|doubleCheck|group(Id|Order)|parentCheckIds|triggerIncident|runParallel|logicalId|project|degraded\w*|created_at|createdAt|id)$/;
/** Failures that a definition can cause. */
const causedByDefinition =
  /^(STATUS_UNEXPECTED|ASSERTION_FAILED|SCRIPT_|NAME_NOT_FOUND|CONNECTION_REFUSED|CONNECTION_UNEXPECTED|CONNECTION_TIMEOUT|HOST_UNREACHABLE|TLS_|RESPONSE_CODE_UNEXPECTED|REPLY_UNEXPECTED|MAX_RESPONSE_TIME|REDIRECT_|DNS_NO_ANSWER|NO_REPLY)/;

/** Changes between the last pass and the first failure that can affect a run, newest first. */
export function relevantChanges({ evidence }: AnalysisInput): ChangeFacts[] {
  return evidence.changes.flatMap((change) => {
    const fields = change.resource.startsWith('checks/')
      ? change.fields.filter((field) => !idleFields.test(field))
      : change.fields;
    return fields.length === 0 ? [] : [{ ...change, fields }];
  });
}

export function changeItems(given: AnalysisInput): EvidenceItem[] {
  return relevantChanges(given)
    .slice(0, 3)
    .map(({ at, resource, fields }) =>
      shown(`Changed at ${at}: ${resource} (${fields.join(', ')})`, 'change'),
    );
}

/**
 * The check was changed between its last pass and its first failure. The failed part is still the one that the run
 * names, that is, the current target or script of the check, so the change is described in relation to it.
 */
export function changedCheck(given: AnalysisInput): Conclusion | undefined {
  const { run, before, evidence } = given;
  const [change] = relevantChanges(given);
  if (!change || !before || !causedByDefinition.test(run.code)) return undefined;
  const difference = differenceOf(given);
  // Without a difference between the two runs this may be a coincidence, unless a part of a script was changed.
  if (difference === null && run.script === null && change.resource.startsWith('checks/')) return undefined;
  const what = change.resource.startsWith('checks/')
    ? 'the check'
    : `a resource of the check (${change.resource})`;
  const { failing } = given.verdict;
  const failed = failedPart(given);
  return {
    certainty: 'LIKELY',
    owner: failing === 'script' || failing === 'script-or-target' ? failing : 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${failed.charAt(0).toUpperCase()}${failed.slice(1)}${failed.includes(',') ? ',' : ''} has failed since ${what} was changed at ${change.at} (${change.fields.join(', ')}), between its last pass at ${before.result.startedAt} and its first failure${evidence.failingSince === null ? '' : ` at ${evidence.failingSince}`}.${difference === null ? '' : ` ${difference}`} ${sentence(run.message)}`,
    impact: impactOf(given, 'Possibly none: the check tests something else than before.'),
    next: 'Look at the change in the history of the check; correct it, or revert it.',
    evidence: [
      ...changeItems(given),
      shown('The run before the change passed', 'lastPass'),
      shown(run.message, 'error', ...run.files),
    ],
  };
}

/** Difference between the two runs in their request or expectation. */
function differenceOf({ run, before }: AnalysisInput): string | null {
  if (!before) return null;
  if (run.script === null && run.url !== null && before.url !== null && run.url !== before.url) {
    return `It now requests ${run.url}, and requested ${before.url} before.`;
  }
  if (
    run.dns &&
    before.dns &&
    (run.dns.query !== before.dns.query || run.dns.recordType !== before.dns.recordType)
  ) {
    return `It now queries ${run.dns.query} ${run.dns.recordType}, and queried ${before.dns.query} ${before.dns.recordType} before.`;
  }
  if (run.script === null && run.host !== null && before.host !== null && run.host !== before.host) {
    return `It now contacts ${run.host}, and contacted ${before.host} before.`;
  }
  if (run.code === 'ASSERTION_FAILED') {
    const known = new Set(before.assertions.map(keyOf));
    const added = run.assertions.find((one) => one.failed && !known.has(keyOf(one)));
    if (added) {
      return `The failed assertion is new: ${[added.source, added.property, added.comparison, added.target].filter((word) => word !== '').join(' ')}.`;
    }
  }
  return run.port !== null && before.port !== null && run.port !== before.port
    ? `It now uses port ${run.port}, and used port ${before.port} before.`
    : null;
}

const keyOf = ({ source, property, comparison, target }: AnalysisInput['run']['assertions'][number]) =>
  JSON.stringify([source, property, comparison, target]);
