import { type CheckResult, checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const dayMs = 86_400_000;

/** Notice in place of an omitted detail. */
export function leftOutNotice({ isDetailLeftOut }: CheckResult): Content {
  if (!isDetailLeftOut) return '';
  return html`<p class="notice">The details of this run were not kept. The service keeps details of failures, of changes and of every nth pass (<code>DETAIL_OF_EVERY_NTH_PASS</code>). The charts of the check include its times.</p>`;
}

/** Navigation path above a page of a check. */
export function crumbs(checkId: string, name: string): Html {
  return html`<p class="crumbs"><a href="/">Overview</a> / <a href="${path`/checks/${checkId}`}">${visible(shortened(name, 120))}</a></p>`;
}

/** Button that runs a check now; empty if the viewer's role does not allow it. */
export function runAgainForm({ api, viewer }: PageCall, checkId: string): Html | '' {
  if (!api.allows(checkSessionRoutes.triggerCheckSessions)) return '';
  return html`<form method="post" action="${path`/checks/${checkId}/run`}">${csrfField(viewer)}<button class="button primary" type="submit">Run now</button></form>`;
}

/**
 * Returns the last passed run before another one, preferably at the same location; within seven days, the last one with
 * a stored detail to compare with. If no detail is stored, the last passed run.
 */
export async function lastPassedBefore(
  { api, store }: PageCall,
  result: CheckResult,
): Promise<CheckResult | undefined> {
  const to = result.created_at;
  const fromMs = Date.parse(to) - 7 * dayMs;
  const from = new Date(fromMs).toISOString();
  const list = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId: result.checkId },
    query: { from, to, hasFailures: 'false', limit: 20 },
  });
  const passed = list.filter(({ hasErrors }) => !hasErrors);
  const last = passed.find(({ runLocation }) => runLocation === result.runLocation) ?? passed[0];
  if (!last?.isDetailLeftOut) return last;
  const { checkId, runLocation } = last;
  const whole = await store.results.lastWholePass(checkId, runLocation, { from: fromMs, to: Date.parse(to) });
  if (!whole) return last;
  return api.call(checkResultRoutes.getCheckResult, { params: { checkId, checkResultId: whole.id } });
}
