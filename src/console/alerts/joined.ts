import { type AlertCause, alertCauseRoutes } from '@picket/protocol/alerts/alert-cause.ts';
import type { OpenAlert } from '@picket/protocol/alerts/alert-handling.ts';
import { ago, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

const shownAtMost = 100;

/** Open alerts that share one cause. */
export interface Joined<Alert extends OpenAlert> {
  readonly cause: AlertCause;
  readonly alerts: readonly Alert[];
}

/** Groups open alerts by a cause that several of them share; the others stay single. */
export async function byCause<Alert extends OpenAlert>(
  { api }: PageCall,
  open: readonly Alert[],
): Promise<{ readonly joined: readonly Joined<Alert>[]; readonly alone: readonly Alert[] }> {
  const causes = await api.call(alertCauseRoutes.listAlertCauses, {
    query: { isOpen: 'true', limit: shownAtMost },
  });
  const joined = causes.flatMap((cause): Joined<Alert>[] => {
    const failing = new Set(
      cause.members.filter((member) => member.recoveredAt === null).map((member) => member.checkId),
    );
    const alerts = open.filter(({ checkId }) => failing.has(checkId));
    return alerts.length < 2 ? [] : [{ cause, alerts }];
  });
  const known = new Set(joined.flatMap(({ alerts }) => alerts.map(({ checkId }) => checkId)));
  return { joined, alone: open.filter(({ checkId }) => !known.has(checkId)) };
}

/** Shows one cause as one line that expands to its checks. */
export function joinedSection<Alert extends OpenAlert>(
  { cause, alerts }: Joined<Alert>,
  now: number,
  tableOf: (alerts: readonly Alert[]) => Html,
): Html {
  const { reason, startedAt, recoveredCount } = cause;
  const recovered = recoveredCount === 0 ? '' : `, ${recoveredCount} recovered`;
  return html`<details class="joined"><summary>${stateBadge('failed')} <b>${shortened(reason, 300)}</b>
<span class="small soft">${alerts.length} checks${recovered} · since ${ago(Date.parse(startedAt), now)}</span></summary>
${tableOf(alerts)}</details>`;
}
