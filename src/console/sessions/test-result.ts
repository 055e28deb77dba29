import { summaryOfResult } from '@picket/protocol/results/check-result.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { html, path } from '../html.ts';
import type { PageCall, View } from '../page.ts';
import { rootCauseOf } from '../root-causes/section.ts';
import { curlButton, detailParts } from '../run/detail.ts';
import { evidenceOf } from '../run/evidence/evidence.ts';
import { verdictOf } from '../run/verdict.ts';
import { verdictCard } from '../run/verdict-card.ts';

/** Shows a run of a test session: its outcome and its findings. */
export async function showTestResult(call: PageCall): Promise<View> {
  const { id = '', resultId = '' } = call.params;
  const result = await call.api.call(testSessionRoutes.getTestSessionResult, { params: { id, resultId } });
  const verdict = verdictOf(result);
  const summary = summaryOfResult(result);
  const { sections, log } = detailParts(result, { summary });
  const [evidence, cause] = await Promise.all([
    evidenceOf(call, result, { summary }),
    rootCauseOf(call, result, path`/sessions/tests/${id}/results/${resultId}`),
  ]);
  const name = visible(shortened(result.name, 120));
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a> / <a href="${path`/sessions/tests/${id}`}">Test session</a></nav>
${verdictCard(verdict, result, {
  cause: cause.line,
  actions: html`<div class="actions">${curlButton(summary)}</div>`,
  facts: [['Check', name]],
})}
${evidence.bar}<p class="hint">It does not count in availability, and no notifications were sent.</p>
${cause.section}${evidence.pictures}${sections}${evidence.files}${log}`;
  return { title: `${verdict.word}: ${name}`, main };
}
