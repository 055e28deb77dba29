import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { companyItems, sentence } from './location.ts';

/** A server that was reached and says something else than a step of the conversation expects, or leaves it. */
export function brokenDialogue(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'DIALOGUE_FAILED') return undefined;
  const [, code] = /closed the conversation with code (\d+)/.exec(run.message) ?? [];
  const history = before ? ` The last pass was at ${before.facts.startedAt}.` : '';
  const isRefused = code === '1008' || code === '3000' || code === '3003';
  return {
    certainty: 'LIKELY',
    classification: isRefused ? 'CONFIGURATION_ERROR' : 'APPLICATION_ERROR',
    cause: `${given.target} can be reached, and the conversation goes another way than the check expects. ${sentence(run.message)}${history}`,
    impact: impactOf(given, 'Clients that talk with the server in this way get the same.'),
    next: isRefused
      ? 'Compare what the check sends, its credentials above all, with what the server asks for now.'
      : 'Look into the log of the server at this time, and at what was released; if the answer is as meant, change the step.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}
