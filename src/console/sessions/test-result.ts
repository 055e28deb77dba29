import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { facts } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { html, path } from '../html.ts';
import type { PageCall, View } from '../page.ts';
import { rootCauseSection } from '../root-causes/section.ts';
import { detailParts } from '../run/detail.ts';
import { evidenceSections } from '../run/evidence.ts';
import { verdictOf } from '../run/verdict.ts';

/** Shows a run of a test session: its outcome and its findings. */
export async function showTestResult(call: PageCall): Promise<View> {
  const { id = '', resultId = '' } = call.params;
  const result = await call.api.call(testSessionRoutes.getTestSessionResult, { params: { id, resultId } });
  const verdict = verdictOf(result);
  const { sections, log } = detailParts(result);
  const [evidence, rootCause] = await Promise.all([
    evidenceSections(call, result),
    rootCauseSection(call, result, path`/sessions/tests/${id}/results/${resultId}`),
  ]);
  const name = visible(shortened(result.name, 120));
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a> / <a href="${path`/sessions/tests/${id}`}">Test session</a></nav>
<div class="verdict verdict-${verdict.state}">${stateBadge(verdict.state, verdict.word)}
<h1>${visible(shortened(verdict.sentence, 400))}</h1>
${verdict.detail === null ? '' : html`<p class="verdict-detail">${visible(shortened(verdict.detail, 1_000))}</p>`}
${verdict.whatFailed === null ? '' : html`<p><b>Failed part:</b> ${verdict.whatFailed}.</p>`}
${facts([
  ['What', name],
  ['When', instant(result.startedAt ?? result.created_at)],
  ['Where', visible(result.runLocation)],
  ['Response time', duration(result.responseTime)],
  ['Attempt', result.attempts > 0 ? `${result.attempts + 1}` : ''],
  ['Code', result.failure ? html`<code>${result.failure.code}</code>` : ''],
])}</div>
<p class="soft">It does not count in availability, and no notifications were sent.</p>
${rootCause}${sections}${evidence}${log}`;
  return { title: `${verdict.word}: ${name}`, main };
}
