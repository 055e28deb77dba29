import {
  type RootCauseAnalysis,
  rootCauseAnalysisRoutes,
} from '../../../protocol/results/root-cause-analysis.ts';
import { csrfField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { facts } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

const shownGroups = 3;

/**
 * What was found out about the causes of a run's errors, and what people say of it.
 *
 * @param page the path of the run's page, which takes what its forms send.
 */
export async function rootCauseSection(
  call: PageCall,
  { errorGroupIds }: { readonly errorGroupIds: readonly string[] },
  page: string,
): Promise<Content> {
  const groupIds = errorGroupIds.slice(0, shownGroups);
  if (groupIds.length === 0) return '';
  const analyses = await call.store.analyses.ofGroups(groupIds);
  const seen = new Set<string>();
  const shown = groupIds.flatMap((groupId) => {
    const newest = analyses.get(groupId)?.[0];
    // Two errors of one run mostly have one cause.
    if (!newest || seen.has(newest.analysis.rootCause)) return [];
    seen.add(newest.analysis.rootCause);
    return [analysisPart(call, page, newest)];
  });
  const again = lookAgainForm(call, page, shown.length === 0 ? 'Look for its cause' : 'Look again');
  const none = shown.length === 0 ? html`<p class="soft">Nobody has looked for its cause yet.</p>` : '';
  return section('Root cause', html`${shown}${none}${again}`, 'root-cause');
}

function analysisPart(call: PageCall, page: string, one: RootCauseAnalysis): Html {
  const { analysis } = one;
  return html`<p><b>${visible(shortened(analysis.rootCause, 1_500))}</b></p>
${facts([
  ['Who is concerned', visible(shortened(analysis.userImpact, 500))],
  ['What to do next', visible(shortened(analysis.codeFix ?? '', 500))],
  ['Kind', analysis.classification.toLowerCase().replaceAll('_', ' ')],
  ['Found by', html`${one.model} of ${one.provider}, ${instant(one.created_at)}`],
  ['Said with it', visible(shortened((one.userContext ?? []).map(({ text }) => text).join(' '), 300))],
])}
<details><summary>What it follows from</summary><ul>${analysis.evidence.map(
    ({ artifacts, description }) =>
      html`<li>${visible(shortened(description, 500))} <span class="soft">${visible(artifacts.map(({ name }) => name).join(', '))}</span></li>`,
  )}</ul></details>${modelPart(one)}${verdictForm(call, page, one)}`;
}

/** What a model adds, apart from what rules found. */
function modelPart({ fromModel }: RootCauseAnalysis): Content {
  if (!fromModel) return '';
  const { model, provider, askedAt, causes, droppedCount, problem } = fromModel;
  const who = html`<p class="soft">From a model (${visible(model)}, ${provider}), ${instant(askedAt)}. It only ranks causes that the rules leave open; what it says is taken from the evidence${droppedCount === 0 ? '' : `, and ${droppedCount} of its statements, which were not, are left out`}.</p>`;
  if (problem !== null) return html`<h3>Possible causes</h3>${who}<p>${visible(problem)}</p>`;
  if (causes.length === 0)
    return html`<h3>Possible causes</h3>${who}<p>None that the evidence speaks for.</p>`;
  return html`<h3>Possible causes</h3>${who}<ol>${causes.map(
    ({ cause, next, statements }) =>
      html`<li>${cause}<ul>${statements.map(
        ({ text, evidence }) =>
          html`<li>${visible(shortened(text, 500))} <span class="soft">${visible(evidence.map(({ id }) => id).join(', '))}</span></li>`,
      )}</ul>${next}</li>`,
  )}</ol>`;
}

const said = {
  RIGHT: 'Somebody said that this is right.',
  WRONG: 'Somebody said that this is wrong.',
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
