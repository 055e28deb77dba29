import { alertRoutes } from '@picket/protocol/alerts/alert.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { instant, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { pager, table } from '../elements/table.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { channelName } from './channel-words.ts';
import { alertTabs } from './tabs.ts';

const rowsPerPage = 50;
const dayMs = 86_400_000;
/** Number of past days to choose from. */
const shownDays = 7;

const statusWords = {
  IN_PROGRESS: ['waiting', 'Sending'],
  SUCCESS: ['passed', 'Arrived'],
  FAILURE: ['failed', 'Failed'],
  RATE_LIMITED: ['missed', 'Held back'],
  QUIET: ['missed', 'Quiet hours'],
} as const satisfies Readonly<Record<string, readonly [State, string]>>;

/** The outcome of a notification. */
export function answerBadge(status: keyof typeof statusWords): Html {
  const [state, word] = statusWords[status];
  return stateBadge(state, word);
}

/** Shows every notification with the response of its receiver. */
export async function showLog(call: PageCall): Promise<View> {
  const { api, query, clock } = call;
  const day = Math.min(shownDays, Math.max(0, Number.parseInt(query.get('day') ?? '0', 10) || 0));
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const channel = /^\d{1,12}$/.exec(query.get('channel') ?? '')?.[0];
  const end = clock.wallMs() + 1 - day * dayMs;
  const { entries: notifications, total } = await api.list(alertRoutes.listAlertNotifications, {
    query: {
      limit: rowsPerPage,
      page,
      from: new Date(end - dayMs).toISOString(),
      to: new Date(end).toISOString(),
      ...(channel === undefined ? {} : { alertChannelId: channel }),
    },
  });
  const channels = await api.call(alertChannelRoutes.listAlertChannels, { query: { limit: 100 } });
  const href = (changes: Readonly<Record<string, string | number | undefined>>) =>
    withQuery('/alerts/notifications', { day: day || undefined, channel, ...changes });
  const main = html`${heading('Alerts')}${alertTabs('/alerts/notifications')}
<form class="filters" method="get" action="/alerts/notifications"><div class="filter-row">
<label>Channel <select name="channel"><option value="">any</option>${channels.map(
    (one) =>
      html`<option value="${one.id}"${String(one.id) === channel ? html` selected` : ''}>${shortened(channelName(one), 60)}</option>`,
  )}</select></label>
<label>Time <select name="day">${Array.from(
    { length: shownDays + 1 },
    (_, ago) =>
      html`<option value="${ago}"${ago === day ? html` selected` : ''}>${ago === 0 ? 'last 24 hours' : `24 hours before, ${ago} d ago`}</option>`,
  )}</select></label><button class="button" type="submit">Show</button></div></form>
${table({
  caption: 'Notifications, newest first',
  rows: notifications,
  empty: 'No notifications in this period.',
  columns: [
    { title: 'When', cell: ({ created_at }) => instant(created_at) },
    {
      title: 'About',
      cell: ({ checkId, checkName, checkType }) =>
        checkType === null
          ? shortened(checkName, 120)
          : html`<a href="${path`/checks/${checkId}`}">${shortened(checkName, 120)}</a>`,
    },
    { title: 'What', cell: ({ alertType }) => alertWords(alertType) },
    {
      title: 'Channel',
      cell: ({ alertChannelId, alertConfig }) =>
        shortened(channelName({ id: alertChannelId, ...alertConfig }), 80),
    },
    {
      title: 'Outcome',
      cell: ({ status, notificationResult, tries }) =>
        html`${answerBadge(status)}${notificationResult === null ? '' : html`<br><span class="small">${shortened(notificationResult, 300)}</span>`}${tries > 1 ? html`<br><span class="small soft">${tries} tries</span>` : ''}`,
    },
  ],
})}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => href({ page: other }), of: 'notifications' })}`;
  return { main };
}

/** Formats `ALERT_FAILURE_REMAIN` for people. */
export function alertWords(alertType: string): string {
  const words = alertType
    .replace(/^ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  return words === 'ssl' ? 'certificate' : words;
}
