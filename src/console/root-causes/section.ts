import { failureWords } from '@picket/checks/judging/failure-words.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import {
  type RootCauseAnalysis,
  rootCauseAnalysisRoutes,
} from '@picket/protocol/results/root-cause-analysis.ts';
import { isOfRun } from '@picket/service/analyses/cause-owner.ts';
import { factRows } from '../elements/fact-lists.ts';
import { csrfField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

const shownGroups = 3;

/** Where the page of a run shows its cause. */
export interface RootCause {
  /** The cause in one sentence, for the verdict; empty if it is not known. */
  readonly line: Content;
  readonly section: Content;
}

/**
 * Shows the analysis of a run's cause, and the users' verdict on it. A run has one cause: that of its first error; its
 * other errors are evidence.
 *
 * @param page the path of the run's page, which handles its forms.
 */
export async function rootCauseOf(
  call: PageCall,
  { errorGroupIds, failure }: Pick<CheckResult, 'errorGroupIds' | 'failure'>,
  page: string,
): Promise<RootCause> {
  const groupIds = errorGroupIds.slice(0, shownGroups);
  if (groupIds.length === 0) return { line: '', section: '' };
  const analyses = await call.store.analyses.ofGroups(groupIds);
  const known = groupIds.flatMap((groupId) => analyses.get(groupId)?.[0] ?? []);
  const newest = known.find(({ analysis }) => isOfRun(analysis, failure && failureWords(failure)));
  const shown = newest
    ? html`${otherRunNotice(newest, failure)}${analysisPart(call, page, newest)}`
    : missingPart(known[0]);
  const again = lookAgainForm(call, page, newest ? 'Analyse again' : 'Analyse the cause');
  const title = newest ? titles[newest.analysis.certainty] : 'Root cause';
  return {
    line: newest ? causeLine(newest) : '',
    section: section(title, html`${shown}<div class="actions">${again}</div>`, 'root-cause'),
  };
}

/** Facts without a cause are not called one. */
const titles = { CERTAIN: 'Root cause', LIKELY: 'Likely cause', OPEN: 'Cause not known' } as const;

function causeLine({ analysis }: RootCauseAnalysis): Content {
  if (analysis.certainty === 'OPEN') return '';
  return html`<p class="verdict-cause"><span class="soft">Cause:</span> <a href="#root-cause">${visible(shortened(analysis.rootCause, 200))}</a></p>`;
}

/**
 * States that the analysed run failed with another message, if so: runs with similar errors share an analysis, and the
 * message above it is that of this run. The first piece of evidence quotes the message of the analysed run.
 */
function otherRunNotice({ analysis }: RootCauseAnalysis, failure: CheckResult['failure']): Content {
  const [first] = analysis.evidence;
  const letters = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
  if (!first || !failure || letters(first.description).includes(letters(failure.sentence))) return '';
  return html`<p class="notice">Found in a run with a similar error: ${visible(shortened(first.description, 300))}</p>`;
}

/** For an error that was analysed only in another run, in which another part failed. */
function missingPart(other: RootCauseAnalysis | undefined): Html {
  const whatFailed = other?.analysis.whatFailed ?? null;
  return whatFailed === null
    ? html`<p class="soft">The cause has not been analysed yet.</p>`
    : html`<p class="soft">The cause of this run is unknown. The same error was analysed in a run where another part failed: ${whatFailed}.</p>`;
}

function analysisPart(call: PageCall, page: string, one: RootCauseAnalysis): Html {
  const { analysis } = one;
  return html`<p><b>${visible(shortened(analysis.rootCause, 1_500))}</b></p>
${factRows([
  ['Impact', visible(shortened(analysis.userImpact, 500))],
  ['Next step', visible(shortened(analysis.codeFix ?? '', 500))],
  ['Kind', analysis.kind ?? kinds[analysis.classification]],
  ['Found by', html`${one.model} of ${one.provider}, ${instant(one.created_at)}`],
  [
    'Note with the request',
    visible(shortened((one.userContext ?? []).map(({ text }) => text).join(' '), 300)),
  ],
])}
<details><summary>Evidence</summary><ul>${analysis.evidence.map(
    ({ artifacts, description }) =>
      html`<li>${visible(shortened(description, 500))} <span class="soft">${visible(artifacts.map(({ name }) => name).join(', '))}</span></li>`,
  )}</ul></details>${modelPart(one)}${verdictForm(call, page, one)}`;
}

/** Fallback for analyses of earlier versions, which have no `kind`. */
const kinds: Readonly<Record<RootCauseAnalysis['analysis']['classification'], string>> = {
  CONFIGURATION_ERROR: 'a setting or a definition',
  INFRASTRUCTURE_ERROR: 'network, host or gateway',
  APPLICATION_ERROR: 'the program of the target',
  PERFORMANCE_ERROR: 'performance',
  MONITORING_ERROR: 'the monitoring',
  UNKNOWN: 'unknown',
};

/** Shows a model's additions if the rules leave the cause open; a cause named by rules takes precedence. */
function modelPart({ fromModel, analysis }: RootCauseAnalysis): Content {
  if (!fromModel || analysis.certainty !== 'OPEN') return '';
  const { model, provider, askedAt, causes, droppedCount, problem } = fromModel;
  const who = html`<p class="soft">From a model (${visible(model)}, ${provider}), ${instant(askedAt)}. It only ranks causes that the rules leave open, and quotes the evidence${droppedCount === 0 ? '' : `; ${droppedCount} of its statements without evidence are left out`}.</p>`;
  if (problem !== null) return html`<h3>Possible causes</h3>${who}<p>${visible(problem)}</p>`;
  if (causes.length === 0)
    return html`<h3>Possible causes</h3>${who}<p>The evidence supports none of the possible causes.</p>`;
  return html`<h3>Possible causes</h3>${who}<ol>${causes.map(
    ({ cause, next, statements }) =>
      html`<li>${cause}<ul>${statements.map(
        ({ text, evidence }) =>
          html`<li>${visible(shortened(text, 500))} <span class="soft">${visible(evidence.map(({ id }) => id).join(', '))}</span></li>`,
      )}</ul>${next}</li>`,
  )}</ol>`;
}

const said = {
  RIGHT: 'Marked as right.',
  WRONG: 'Marked as wrong.',
} as const;

function verdictForm({ api, viewer }: PageCall, page: string, { id, verdict }: RootCauseAnalysis): Content {
  const words = verdict === null ? '' : html`<p class="soft">${said[verdict]}</p>`;
  if (!api.allows(rootCauseAnalysisRoutes.updateRootCauseAnalysis)) return words;
  return html`${words}<form method="post" action="${page}/root-cause/${id}">${csrfField(viewer)}<button class="button" type="submit" name="verdict" value="RIGHT">This is right</button> <button class="button" type="submit" name="verdict" value="WRONG">This is wrong</button></form>`;
}

function lookAgainForm({ api, viewer }: PageCall, page: string, word: string): Content {
  if (!api.allows(rootCauseAnalysisRoutes.analyseErrorGroup)) return '';
  return html`<form method="post" action="${page}/root-cause">${csrfField(viewer)}<button class="button" type="submit">${word}</button></form>`;
}
