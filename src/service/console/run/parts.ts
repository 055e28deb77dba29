import { type CheckResult, checkResultRoutes } from '../../../protocol/results/check-result.ts';
import { checkSessionRoutes } from '../../../protocol/sessions/check-session.ts';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const dayMs = 86_400_000;

/** The way back from a page of a check. */
export function crumbs(checkId: string, name: string): Html {
  return html`<p class="crumbs"><a href="/">Overview</a> / <a href="${path`/checks/${checkId}`}">${visible(shortened(name, 120))}</a></p>`;
}

/** The button that runs a check now; nothing for those who may not. */
export function runAgainForm({ api, viewer }: PageCall, checkId: string): Html | '' {
  if (!api.allows(checkSessionRoutes.triggerCheckSessions)) return '';
  return html`<form method="post" action="${path`/checks/${checkId}/run`}">${csrfField(viewer)}<button class="button primary" type="submit">Run now</button></form>`;
}

/** The last run of a check before another that passed; those of seven days are looked at. */
export async function lastPassedBefore(
  { api }: PageCall,
  result: CheckResult,
): Promise<CheckResult | undefined> {
  const to = result.created_at;
  const from = new Date(Date.parse(to) - 7 * dayMs).toISOString();
  const list = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId: result.checkId },
    query: { from, to, hasFailures: 'false', limit: 20 },
  });
  return (
    list.find((one) => !one.hasErrors && one.runLocation === result.runLocation) ??
    list.find(({ hasErrors }) => !hasErrors)
  );
}
