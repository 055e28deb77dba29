import type { AlertEntry } from '@picket/protocol/alerts/alert-entry.ts';
import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { menu } from '../elements/menu.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import { silenceLengths } from './silence-form.ts';

/** The menu of an alert: what can be done about it, and where its evidence is. */
export function rowMenu(call: PageCall, entry: AlertEntry, back: string): Html {
  const { name } = entry;
  return menu({
    label: `Actions: ${shortened(name, 60)}`,
    items: [...links(entry), ...actions(call, entry, back)],
  });
}

/** The page of the run that shows the evidence; null without one. */
export function runOf({ members }: Pick<AlertEntry, 'members'>): string | null {
  const [member] = members.filter(({ checkResultId }) => checkResultId !== null);
  return member ? path`/checks/${member.checkId}/runs/${member.checkResultId ?? ''}` : null;
}

function links(entry: AlertEntry): Content[] {
  const { id, kind, members } = entry;
  const run = runOf(entry);
  const [member] = members;
  const link = (to: string, name: string, word: string) =>
    html`<a class="button" href="${to}">${icon(name)}${word}</a>`;
  return [
    link(path`/alerts/entries/${id}`, 'bell', 'Notifications'),
    run === null ? '' : link(run, 'play', 'Open the run'),
    member === undefined ? '' : link(path`/checks/${member.checkId}`, 'pulse', 'Open the check'),
    kind === 'LOCATION' && id.startsWith('location_')
      ? link(path`/locations/${id.replace(/^location_/, '')}`, 'server', 'Open the location')
      : '',
  ];
}

/** The forms that an editor gets; none for what has ended. */
function actions({ api, viewer }: PageCall, entry: AlertEntry, back: string): Content[] {
  const { id, kind, state, acknowledgement, silencedUntil, suppressedBy } = entry;
  if (state === 'ENDED' || !api.allows(alertHandlingRoutes.acknowledgeAlert)) return [];
  const here = path`/alerts/entries/${id}`;
  const fields = html`${csrfField(viewer)}<input type="hidden" name="back" value="${back}">`;
  const isOfChecks = kind === 'CHECK' || kind === 'CAUSE';
  const whole = kind === 'CAUSE' ? ' all' : '';
  const acknowledge = acknowledgement
    ? html`<form method="post" action="${here}/withdraw">${fields}<button class="button" type="submit">${icon('x')}Withdraw the acknowledgement</button></form>`
    : html`<details class="confirm"><summary class="button">${icon('check')}Acknowledge${whole}…</summary><form class="confirm-box calm" method="post" action="${here}/acknowledge">${fields}
<p>Stops reminders and escalation until the recovery.</p>${comment()}<button class="button primary" type="submit">Acknowledge</button></form></details>`;
  const silence = html`<details class="confirm"><summary class="button">${icon('bell-slash')}Silence${isOfChecks ? whole : ' the location'}…</summary><form class="confirm-box calm" method="post" action="${here}/silence">${fields}
${comment()}<div class="lengths">${silenceLengths.map(({ value, word }) => html`<button class="button" type="submit" name="minutes" value="${value}">${word}</button>`)}</div></form></details>`;
  const mute = html`<form method="post" action="${here}/mute">${fields}<button class="button" type="submit">${icon('mute')}Mute the check</button></form>`;
  return [
    isOfChecks ? acknowledge : '',
    silencedUntil === null ? silence : '',
    entry.memberCount === 1 && suppressedBy !== 'muted' ? mute : '',
  ];
}

function comment(): Html {
  return html`<label>Reason (visible to others) <input name="comment" maxlength="1000"></label>`;
}
