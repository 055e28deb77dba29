import type { CheckResult } from '../../../protocol/results/check-result.ts';
import {
  type RootCauseAnalysis,
  rootCauseAnalysisRoutes,
} from '../../../protocol/results/root-cause-analysis.ts';
import { csrfField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { facts } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const shownGroups = 3;

/** What was found out about the causes of a run's errors, and what people say of it. */
export async function rootCauseSection(call: PageCall, result: CheckResult): Promise<Content> {
  const groupIds = result.errorGroupIds.slice(0, shownGroups);
  if (groupIds.length === 0) return '';
  const analyses = await call.store.analyses.ofGroups(groupIds);
  const seen = new Set<string>();
  const shown = groupIds.flatMap((groupId) => {
    const newest = analyses.get(groupId)?.[0];
    // Two errors of one run mostly have one cause.
    if (!newest || seen.has(newest.analysis.rootCause)) return [];
    seen.add(newest.analysis.rootCause);
    return [analysisPart(call, result, newest)];
  });
  const again = lookAgainForm(call, result);
  const none = shown.length === 0 ? html`<p class="soft">Nobody has looked for its cause yet.</p>` : '';
  return section('Root cause', html`${shown}${none}${again}`, 'root-cause');
}

function analysisPart(call: PageCall, result: CheckResult, one: RootCauseAnalysis): Html {
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
  )}</ul></details>${verdictForm(call, result, one)}`;
}

const said = {
  RIGHT: 'Somebody said that this is right.',
  WRONG: 'Somebody said that this is wrong.',
} as const;

function verdictForm(
  { api, viewer }: PageCall,
  result: CheckResult,
  { id, verdict }: RootCauseAnalysis,
): Content {
  const words = verdict === null ? '' : html`<p class="soft">${said[verdict]}</p>`;
  if (!api.allows(rootCauseAnalysisRoutes.updateRootCauseAnalysis)) return words;
  const action = path`/checks/${result.checkId}/runs/${result.id}/root-cause/${id}`;
  return html`${words}<form method="post" action="${action}">${csrfField(viewer)}<button class="button" type="submit" name="verdict" value="RIGHT">This is right</button> <button class="button" type="submit" name="verdict" value="WRONG">This is wrong</button></form>`;
}

function lookAgainForm({ api, viewer }: PageCall, result: CheckResult): Content {
  if (!api.allows(rootCauseAnalysisRoutes.analyseErrorGroup)) return '';
  const action = path`/checks/${result.checkId}/runs/${result.id}/root-cause`;
  return html`<form method="post" action="${action}">${csrfField(viewer)}<button class="button" type="submit">Look again</button></form>`;
}
