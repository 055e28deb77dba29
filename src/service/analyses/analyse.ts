import { agreesWith } from './cause-owner.ts';
import { type Analysis, analysisOf, type Conclusion, type EvidenceItem, shown } from './conclusion.ts';
import type { Evidence } from './evidence.ts';
import { changeItems } from './rules/change.ts';
import { rules } from './rules/index.ts';
import { sentence } from './rules/location.ts';
import { maintenanceItems } from './rules/own.ts';
import { type AnalysisInput, analysisInput, failedPart } from './run-view/case.ts';

/**
 * Determines the cause of an error by fixed rules: the same evidence always yields the same analysis. Pure, and never
 * throws, whatever the results contain. It states nothing beyond the evidence. If no rule matches, it says what is
 * known and that the cause is open: this is where a model could phrase and rank further causes.
 */
export function analyse(evidence: Evidence): Analysis {
  const given = analysisInput(evidence);
  if (!given) return analysisOf(nothingLeft(evidence), [], null);
  const conclusion = firstOf(given) ?? unknown(given);
  const known = JSON.stringify(conclusion.evidence);
  const around = [...changeItems(given), ...maintenanceItems(given)].filter(
    (item) => !known.includes(JSON.stringify(item)),
  );
  const [first, rest] = verdictFirst(given, conclusion.evidence);
  return analysisOf(
    { ...conclusion, evidence: [first, ...rest] },
    [...around, ...otherErrors(given)],
    given.verdict,
  );
}

/** The verdict that other views show for the run, in place of its bare message, and the remaining evidence. */
function verdictFirst(
  { run, verdict }: AnalysisInput,
  evidence: readonly EvidenceItem[],
): [EvidenceItem, EvidenceItem[]] {
  const { sentence: said, whatFailed } = verdict;
  const { message } = run.result;
  const bare = new Set([run.message, sentence(run.message), message ?? run.result.errorMessages[0]]);
  const own = evidence.find(({ description }) => bare.has(description));
  const first = shown(
    `${sentence(said)} Failed part: ${whatFailed}.`,
    ...(own?.artifacts ?? (['error'] as const)),
  );
  return [first, evidence.filter((item) => item !== own)];
}

/** The first conclusion that does not contradict the failed part according to the run; others are skipped. */
function firstOf(given: AnalysisInput): Conclusion | undefined {
  for (const rule of rules) {
    const conclusion = rule(given);
    if (conclusion && agreesWith(given.verdict.failing, conclusion)) return conclusion;
  }
  return undefined;
}

function nothingLeft({ errorMessage, check }: Evidence): Conclusion {
  return {
    certainty: 'OPEN',
    owner: 'open',
    classification: 'UNKNOWN',
    cause: `The results with this error have expired; only the message is left. ${sentence(errorMessage)}`,
    impact: `${check.name} did not pass at that time.`,
    next: 'Request a new analysis when the error comes back.',
    evidence: [shown(sentence(errorMessage), 'error')],
  };
}

function unknown({ run, before, target, verdict }: AnalysisInput): Conclusion {
  const part = failedPart({ verdict });
  const isOfTarget = part === verdict.whatFailed;
  const what = isOfTarget ? target : part;
  return {
    certainty: 'OPEN',
    owner: 'open',
    classification: 'UNKNOWN',
    cause: `No rule explains this failure of ${what}. ${sentence(run.message)}${before ? ` It passed at ${before.result.startedAt}.` : ' It has not passed before.'}`,
    impact: isOfTarget ? 'The target did not pass the check.' : 'None known: the target was not judged.',
    next: before ? 'Compare the run with the last pass.' : 'Look at the log and the response of the run.',
    evidence: [shown(run.message, 'error', ...run.files)],
  };
}

/** Further errors that the newest run reported. */
function otherErrors({ run }: AnalysisInput) {
  return run.result.errorMessages
    .slice(1, 4)
    .flatMap((message) => (sentence(message) === '' ? [] : [shown(`Also: ${sentence(message)}`, 'error')]));
}
