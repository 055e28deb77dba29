import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { quoted } from '../run-view/read.ts';
import type { SeenAssertion } from '../run-view/run-view.ts';
import { companyItems, sentence } from './location.ts';

/** An assertion on the response failed: names the difference from the last pass. */
export function changedContent(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'ASSERTION_FAILED') return undefined;
  const failed = run.assertions.find((one) => one.failed && !/_TIME$|^LATENCY$/.test(one.source));
  if (!failed) return undefined;
  const same = before?.assertions.find(
    (one) =>
      one.source === failed.source &&
      one.property === failed.property &&
      one.comparison === failed.comparison,
  );
  const what = nameOf(failed);
  const wanted = `the check expects ${failed.comparison}${failed.target === '' ? '' : ` ${quoted(failed.target)}`}`;
  const told = {
    impact: impactOf(given, `Users of ${given.target} get other content than the check expects.`),
    evidence: [
      shown(run.message, 'assertions', 'response', ...run.files),
      ...(before ? [shown(`The last pass, at ${before.result.startedAt}`, 'lastPass')] : []),
      ...companyItems(given),
    ],
  };
  const line = failed.source === 'TEXT_BODY' || failed.source === 'RESPONSE_DATA' ? changedLine(given) : null;
  if (before && line !== null) {
    return {
      ...told,
      certainty: 'CERTAIN',
      owner: 'target',
      classification: 'APPLICATION_ERROR',
      cause: `${what} has changed since the last pass at ${before.result.startedAt}: ${line}; ${wanted}.`,
      next: 'Look at releases and content changes since then; if the new response is correct, change the assertion.',
    };
  }
  if (before && same && !isAlike(same.actual, failed.actual)) {
    return {
      ...told,
      certainty: 'CERTAIN',
      owner: 'target',
      classification: 'APPLICATION_ERROR',
      cause: `${what} is ${foundText(failed)}, and was ${foundText(same)} at the last pass at ${before.result.startedAt}; ${wanted}.`,
      next: 'Look at releases and content changes since then; if the new response is correct, change the assertion.',
    };
  }
  return {
    ...told,
    certainty: 'OPEN',
    owner: 'open',
    classification: 'UNKNOWN',
    cause: `${what} is ${foundText(failed)}, but ${wanted}. The target responds${run.status === null ? '' : ` with ${run.status}`}, which rules out DNS, connection and TLS; ${before ? 'the last pass does not show a difference' : 'the check has not passed before, so there is no earlier response to compare'}.`,
    next: before ? 'Compare the run with the last pass.' : 'Check that the assertion is correct.',
  };
}

function nameOf({ source, property }: SeenAssertion): string {
  const names: Readonly<Record<string, string>> = {
    JSON_BODY: 'The value at',
    HEADERS: 'The header',
    TEXT_BODY: 'The body',
    RESPONSE_DATA: 'The response',
    CONNECTION: 'The connection’s',
  };
  return [names[source] ?? source, property].filter((word) => word !== '').join(' ');
}

function foundText({ actual }: SeenAssertion): string {
  return actual === null || actual === undefined || actual === '' ? 'nothing' : quoted(actual);
}

function isAlike(left: unknown, right: unknown): boolean {
  return JSON.stringify(left ?? null) === JSON.stringify(right ?? null);
}

/** A server was reached, but deviates from an expected step of the conversation or ends it. */
export function brokenDialogue(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'DIALOGUE_FAILED') return undefined;
  const { closeCode } = run.details;
  const history = before ? ` The last pass was at ${before.result.startedAt}.` : '';
  const isRefused = closeCode === 1008 || closeCode === 3000 || closeCode === 3003;
  return {
    certainty: 'LIKELY',
    owner: isRefused ? 'target-or-check' : 'target',
    classification: isRefused ? 'CONFIGURATION_ERROR' : 'APPLICATION_ERROR',
    cause: `${given.target} can be reached, but the conversation does not follow the steps of the check. ${sentence(run.message)}${history}`,
    impact: impactOf(given, 'Clients that send the same messages are affected.'),
    next: isRefused
      ? 'Compare the messages of the check, above all its credentials, with the current requirements of the server.'
      : 'Look at the log of the server at this time, and at its latest release; if the response is correct, change the step.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** First line of the body that differs from before; null if the bodies are equal or incomplete. */
function changedLine({ run, before }: AnalysisInput): string | null {
  if (!before || run.isBodyCut || before.isBodyCut || run.body === before.body) return null;
  const [lines, earlier] = [run.body, before.body].map((body) => body.split('\n', 2_000)) as [
    string[],
    string[],
  ];
  const at = lines.findIndex((line, index) => line !== earlier[index]);
  const [now, was] = at === -1 ? ['', earlier[lines.length]] : [lines[at], earlier[at]];
  return `it said ${wordOf(was)} and now says ${wordOf(now)}`;
}

const wordOf = (line: string | undefined) =>
  line === undefined || line.trim() === '' ? 'nothing' : `“${quoted(line)}”`;
