import { errorNameIn, scriptErrorIn } from '@picket/checks/foreign-texts/javascript.ts';
import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { quoted } from '../run-view/read.ts';
import { companyItems, sentence } from './location.ts';

/** Failures of a script or suite, apart from network failures, which the network rules cover. */
export function scriptError(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  const { script } = run;
  if (script?.kind === 'network' && run.code === script.code) return undefined;
  const where = !script || script.test === null ? 'The script' : `The test “${quoted(script.test)}”`;
  const limit = limitReached(given, where);
  if (limit) return limit;
  if (!script) return thrownWithoutDetail(given, where);
  const trouble = pageTrouble(given);
  const told = {
    evidence: [
      shown(sentence(script.message), 'error', 'steps', ...run.files),
      ...trouble.items,
      ...companyItems(given),
    ],
    impact: impactOf(given, 'Users who take the same steps may get stuck there.'),
  };
  const history = before ? ` It passed at ${before.result.startedAt}.` : '';
  switch (script.kind) {
    case 'navigation-timeout':
      return {
        ...told,
        certainty: 'LIKELY',
        owner: 'target',
        classification: 'PERFORMANCE_ERROR',
        cause: `${where} waited for a page that did not load in time${script.url === null ? '' : `: ${quoted(script.url)}`}. ${sentence(script.message)}${trouble.words}`,
        next: 'Look at the server of the page, and at the files that the page loads; the trace of the run shows them.',
      };
    case 'locator':
      return {
        ...told,
        certainty: trouble.words === '' && before ? 'LIKELY' : 'OPEN',
        owner: trouble.words === '' && before ? 'target' : 'open',
        classification: trouble.words === '' && before ? 'APPLICATION_ERROR' : 'UNKNOWN',
        cause: `${where} waited for ${script.locator === null ? 'an element' : quoted(script.locator)}, which the page did not show in time, or not in the expected state.${trouble.words}${history}${before ? ' The page has changed, or did not load completely.' : ' The check has not passed before: the element is missing on the page, or its locator in the script is wrong.'}`,
        next: 'Look at the screenshot and the trace: if the page is correct, correct the locator in the script; otherwise restore the page.',
      };
    case 'assertion':
      return {
        ...told,
        certainty: before ? 'LIKELY' : 'OPEN',
        owner: before ? 'target' : 'open',
        classification: before ? 'APPLICATION_ERROR' : 'UNKNOWN',
        cause: `${where} expects ${script.expected === null ? 'another value' : quoted(script.expected)} and got ${script.received === null ? 'the value in the message' : quoted(script.received)}. ${sentence(script.message)}${trouble.words}${before ? ` The page or the response has changed since ${before.result.startedAt}.` : ' The check has not passed before, so there is no earlier run to compare.'}`,
        next: 'If the new value is correct, correct the expectation in the script; otherwise look at releases since the last pass.',
      };
    case 'test-timeout':
      return {
        ...told,
        certainty: 'OPEN',
        owner: 'open',
        classification: 'UNKNOWN',
        cause: `${where} exceeded its time limit, and its error does not say what it waited for. ${sentence(script.message)}${trouble.words}`,
        next: 'Look at the longest steps of the run and at its trace.',
      };
    default:
      return thrown(given, where, told);
  }
}

/** For a run whose detail was too large to keep: only the message is left. */
function thrownWithoutDetail(given: AnalysisInput, where: string): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'SCRIPT_FAILED' || scriptErrorIn(run.message) === null) return undefined;
  return thrown(given, where, {
    evidence: [shown(run.message, 'error', ...run.files)],
    impact: impactOf(given, 'Users who take the same steps may get stuck there.'),
  });
}

function thrown(
  { run, before, verdict }: AnalysisInput,
  where: string,
  told: Pick<Conclusion, 'evidence' | 'impact'>,
): Conclusion {
  const { script } = run;
  const message = script?.message ?? run.message;
  const name = script?.errorName ?? errorNameIn(message, 'anywhere') ?? 'JavaScript error';
  // The verdict already decides whether the script is wrong: a response may quote an error of its language.
  const isSurely = verdict.failing === 'script';
  const isOwn = isSurely || verdict.failing === 'script-or-target';
  return {
    ...told,
    certainty: isSurely ? 'CERTAIN' : isOwn ? 'LIKELY' : 'OPEN',
    owner: isSurely ? 'script' : isOwn ? 'script-or-target' : 'open',
    classification: isOwn ? 'CONFIGURATION_ERROR' : 'UNKNOWN',
    cause: isOwn
      ? `${where} threw ${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}: ${isSurely ? 'an error of the script itself.' : 'an error of the script, or a response of another form than it expects.'} ${sentence(message)}${before ? ` It finished at ${before.result.startedAt}.` : ''}`
      : `${where} failed with an error whose message does not show the cause. ${sentence(message)}`,
    next: 'Correct the script at the position in the stack trace of the error; its log and its trace show the steps before.',
  };
}

function limitReached(given: AnalysisInput, where: string): Conclusion | undefined {
  const { run, before } = given;
  if (!/^SCRIPT_(TIMED_OUT|OUT_OF_MEMORY|LIMIT_EXCEEDED)$/.test(run.result.code ?? '')) return undefined;
  const isTime = run.result.code === 'SCRIPT_TIMED_OUT';
  return {
    certainty: isTime ? 'OPEN' : 'CERTAIN',
    owner: isTime ? 'open' : 'script',
    classification: isTime ? 'UNKNOWN' : 'CONFIGURATION_ERROR',
    cause: isTime
      ? `${where} did not finish in time. ${sentence(run.result.message ?? '')} Either the target is slow, or the script waits for something that never happens.${before ? ` It took ${Math.round(before.result.responseTime)} ms at the last pass.` : ''}`
      : `${where} exceeded its limits. ${sentence(run.result.message ?? '')}`,
    impact: impactOf(
      given,
      isTime ? 'Users may wait as long as the script did.' : 'None known: the target was not judged.',
    ),
    next: isTime ? 'Look at the longest steps of the run.' : 'Split the script, or reduce its work.',
    evidence: [shown(run.result.message ?? '', 'error', 'steps', ...run.files)],
  };
}

/** Errors that the page showed while the script was using it. */
function pageTrouble({ run }: AnalysisInput) {
  const found = (run.script?.pageErrors ?? []).filter(
    ({ kind }) => kind === 'network' || kind === 'document',
  );
  const [first] = found;
  if (!first) return { words: '', items: [] };
  return {
    words: ` Meanwhile the page could not load ${quoted(first.url)} (${quoted(first.message)}).`,
    items: found.slice(0, 3).map(({ url, message }) => shown(`${quoted(url)}: ${quoted(message)}`, 'error')),
  };
}
