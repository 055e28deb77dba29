import { findChannelKind } from '@picket/channels/index.ts';
import {
  type AlertEntry,
  alertEntryRoutes,
  type EntryNotification,
} from '@picket/protocol/alerts/alert-entry.ts';
import { ago, duration, instant, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { stateBadge } from '../elements/state.ts';
import { facts, table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { alertWords, answerBadge } from './log.ts';
import { rowMenu, runOf } from './row-menu.ts';
import { handledWords, severityState, severityWord } from './words.ts';

/** Shows one alert: its checks, and the notifications about it, with the answers of the receivers. */
export async function showEntry(call: PageCall): Promise<View> {
  const { api, clock, params } = call;
  const now = clock.wallMs();
  const entry = await api.call(alertEntryRoutes.getAlertEntry, { params: { id: params['id'] ?? '' } });
  const { name, reason, whatFailed, since, endedAt, locations, acknowledgement, notifications } = entry;
  const run = runOf(entry);
  const title = visible(shortened(name, 120));
  const lasted = duration((endedAt === null ? now : Date.parse(endedAt)) - Date.parse(since));
  const main = html`<nav class="crumbs"><a href="/alerts">Alerts</a></nav>${heading(
    html`${title}`,
    html`<div class="row-actions">${run === null ? '' : html`<a class="button" href="${run}">Open the run</a>`}${rowMenu(call, entry, path`/alerts/entries/${entry.id}`)}</div>`,
  )}
<p class="check-line">${stateBadge(severityState(entry), endedAt === null ? severityWord(entry) : `Ended: ${severityWord(entry)}`)} ${endedAt === null ? 'for' : 'lasted'} ${lasted}</p>
${reason === null ? '' : html`<p class="lead">${visible(reason)}${whatFailed === null ? '' : html` <span class="soft">(${whatFailed})</span>`}</p>`}
${facts([
  ['Since', instant(since)],
  ['Ended', endedAt === null ? '' : instant(endedAt)],
  ['Where', locations.join(', ')],
  ['State', endedAt === null ? handledWords(entry) : ''],
  ['Reason of the acknowledgement', acknowledgement?.comment ? visible(acknowledgement.comment) : ''],
])}
${section('Notifications', notificationTable(entry, notifications, now))}
${entry.members.length === 0 ? '' : section('Checks', memberTable(entry, now))}`;
  return { title, main };
}

function notificationTable(
  { notified, endedAt }: AlertEntry,
  notifications: readonly EntryNotification[],
  now: number,
): Html {
  const none =
    endedAt === null && notified !== ''
      ? `${notified.slice(0, 1).toUpperCase()}${notified.slice(1)}.`
      : 'No channel was notified.';
  return table({
    caption: 'Notifications, newest first',
    rows: notifications,
    empty: none,
    columns: [
      { title: 'When', cell: ({ created_at }) => instant(created_at) },
      { title: 'Channel', cell: channelCell },
      {
        title: 'What',
        cell: ({ alertType, checkName }) =>
          html`${alertWords(alertType)} <span class="soft">${visible(shortened(checkName, 80))}</span>`,
      },
      { title: 'Outcome', cell: ({ status }) => answerBadge(status) },
      {
        title: 'Answer',
        cell: ({ answer, tries, endedAt: answeredAt }) =>
          html`${answer === null ? '–' : visible(shortened(answer, 300))}${tries > 1 ? html` <span class="soft">${tries} tries</span>` : ''}${answeredAt === null ? '' : html` <span class="soft">${ago(Date.parse(answeredAt), now)}</span>`}`,
      },
    ],
  });
}

function channelCell({ alertChannelId, type, channelName }: EntryNotification): Content {
  return html`<a class="channel-name" href="${path`/alerts/channels/${alertChannelId}`}">${icon(findChannelKind(type)?.icon ?? 'bell')}${visible(shortened(channelName, 80))}</a>`;
}

function memberTable({ members, memberCount }: AlertEntry, now: number): Html {
  const time = (at: string | null) => (at === null ? '–' : ago(Date.parse(at), now));
  return html`${table({
    caption: 'Checks, in the order in which they joined',
    rows: members,
    empty: '',
    columns: [
      {
        title: 'Check',
        cell: ({ checkId, name }) =>
          html`<a href="${path`/checks/${checkId}`}">${visible(shortened(name, 100))}</a>`,
      },
      { title: 'Since', cell: ({ since }) => time(since) },
      { title: 'Joined', cell: ({ joinedAt }) => time(joinedAt) },
      { title: 'Recovered', cell: ({ recoveredAt }) => time(recoveredAt) },
      {
        title: 'Run',
        cell: ({ checkId, checkResultId }) =>
          checkResultId === null
            ? '–'
            : html`<a href="${path`/checks/${checkId}/runs/${checkResultId}`}">Show</a>`,
      },
    ],
  })}${memberCount > members.length ? html`<p class="hint">The first ${members.length} of ${memberCount}.</p>` : ''}`;
}
