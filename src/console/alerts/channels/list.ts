import { findChannelKind } from '@picket/channels/index.ts';
import { type AlertChannel, alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { alertEntryRoutes, type EntryNotification } from '@picket/protocol/alerts/alert-entry.ts';
import type { z } from 'zod';
import { csrfField } from '../../elements/form.ts';
import { ago, counted, shortened } from '../../elements/format.ts';
import { icon } from '../../elements/icon.ts';
import { menu } from '../../elements/menu.ts';
import { stateBadge } from '../../elements/state.ts';
import { pager, table } from '../../elements/table.ts';
import { visible } from '../../elements/text.ts';
import { notice, problemNotice } from '../../forms/action.ts';
import { attempt, type Problems } from '../../forms/problems.ts';
import { type Content, html, path, withQuery } from '../../html.ts';
import { heading } from '../../layout.ts';
import type { PageAnswer, PageCall, View } from '../../page.ts';
import { channelName, warningWords } from '../channel-words.ts';
import { answerBadge } from '../log.ts';
import { alertTabs } from '../tabs.ts';
import { editChannel } from './editor.ts';

const { bulkSubscribeAlertChannel, createAlertChannel, deleteAlertChannel, listAlertChannels } =
  alertChannelRoutes;
const { testAlertChannel, updateAlertChannelSubscriptions } = alertChannelRoutes;
const rowsPerPage = 50;

/** Shows the alert channels and their problems. */
export async function listChannels(
  call: PageCall,
  done: { readonly said?: string; readonly isWell?: boolean; readonly problems?: Problems } = {},
): Promise<View> {
  const { api, clock, query } = call;
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries: channels, total } = await api.list(listAlertChannels, {
    query: { limit: rowsPerPage, page },
  });
  const mayWrite = api.allows(createAlertChannel);
  const now = clock.wallMs();
  const latest = await latestByChannel(call, page);
  const main = html`${heading(
    'Alerts',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/alerts/channels/new">New channel</a></div>`
      : '',
  )}${alertTabs('/alerts/channels')}${problemNotice(done.problems)}${done.said === undefined ? '' : notice(done.said, done.isWell ? 'done' : 'refused')}
<div class="channel-table">${table({
    caption: 'Alert channels',
    rows: channels,
    empty: 'No alert channels yet, so no notifications are sent.',
    columns: [
      { title: 'Channel', cell: (channel) => nameCell(channel, mayWrite) },
      { title: 'Status', cell: statusCell },
      { title: 'When', cell: whenWords },
      {
        title: 'For',
        cell: ({ subscriptions, autoSubscribe }) =>
          `${counted(subscriptions.filter(({ activated }) => activated).length, 'check or group', 'checks and groups')}${autoSubscribe ? ', and new ones' : ''}`,
      },
      { title: 'Last notification', cell: ({ id }) => latestCell(latest.get(id), now) },
      ...(mayWrite
        ? [{ title: 'Actions', cell: (channel: AlertChannel) => channelMenu(call, channel) }]
        : []),
    ],
  })}</div>${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/alerts/channels', { page: other }), of: 'channels' })}`;
  return { main, ...(done.problems ? { statusCode: done.problems.statusCode } : {}) };
}

/** Channels are listed by their ids, as their latest notifications are. */
async function latestByChannel({ api }: PageCall, page: number): Promise<Map<number, EntryNotification>> {
  const query = { limit: rowsPerPage, page };
  const latest = await api.call(alertEntryRoutes.listLatestNotifications, { query });
  return new Map(latest.map((one) => [one.alertChannelId, one]));
}

function nameCell(channel: AlertChannel, mayWrite: boolean): Content {
  const name = html`${icon(findChannelKind(channel.type)?.icon ?? 'bell')}${shortened(channelName(channel), 100)}`;
  if (!mayWrite) return html`<span class="channel-name">${name}</span>`;
  return html`<a class="channel-name" href="${path`/alerts/channels/${channel.id}`}">${name}</a>`;
}

function statusCell({ warnings }: AlertChannel): Content {
  if (warnings.length === 0) return stateBadge('passed', 'Ready');
  return warnings.map(
    (warning) =>
      html`<span title="${warningWords(warning)}">${stateBadge('degraded', warning.code === 'NOT_DELIVERED' ? 'Not delivered' : 'No subscriptions')}<span class="hidden">${warningWords(warning)}</span></span>`,
  );
}

function latestCell(latest: EntryNotification | undefined, now: number): Content {
  if (!latest) return html`<span class="soft">none yet</span>`;
  const { status, answer, endedAt, created_at: created } = latest;
  const said = answer === null ? '' : visible(shortened(answer, 120));
  return html`<span class="channel-answer">${answerBadge(status)}${ago(Date.parse(endedAt ?? created), now)}<span class="small soft" title="${said}">${said}</span></span>`;
}

function channelMenu({ viewer }: PageCall, channel: AlertChannel): Content {
  const here = path`/alerts/channels/${channel.id}`;
  const name = shortened(channelName(channel), 60);
  const send = (to: string, fields: Content, content: Content) =>
    html`<form method="post" action="${to}">${csrfField(viewer)}${fields}<button class="button" type="submit">${content}</button></form>`;
  const back = html`<input type="hidden" name="back" value="list">`;
  return menu({
    label: `Actions: ${name}`,
    items: [
      send(`${here}/test`, back, html`${icon('paper-airplane')}Send a test`),
      html`<a class="button" href="${here}">${icon('pencil')}Edit</a>`,
      html`<a class="button" href="${withQuery('/alerts/notifications', { channel: channel.id })}">${icon('list-unordered')}Show its notifications</a>`,
      html`<a class="button" href="${withQuery('/alerts', { channel: channel.id })}">${icon('bell')}Show its open alerts</a>`,
      html`<details class="confirm"><summary class="button danger">${icon('trash')}Delete…</summary><div class="confirm-box"><p>It sends no more notifications. Its subscriptions are deleted, too.</p>${send(`${here}/delete`, '', 'Delete the channel')}</div></details>`,
    ],
  });
}

function whenWords(channel: AlertChannel): string {
  const { sendFailure, sendRecovery, sendDegraded, sslExpiry, sslExpiryThreshold } = channel;
  const words = [
    sendFailure ? 'failure' : '',
    sendDegraded ? 'degradation' : '',
    sendRecovery ? 'recovery' : '',
    sslExpiry ? `certificates that expire within ${sslExpiryThreshold} days` : '',
  ].filter(Boolean);
  return words.length === 0 ? 'never' : words.join(', ');
}

/** Describes the outcome of a test notification. */
export function testWords({ status, result }: z.output<typeof testAlertChannel.response>): string {
  const words = {
    SUCCESS: 'The test arrived.',
    FAILURE: 'The test failed.',
    IN_PROGRESS:
      'The test has not arrived yet and is being retried. The notifications page shows the outcome.',
    QUIET: 'The test was skipped.',
    RATE_LIMITED: 'The test was dropped: the channel reached its rate limit.',
  } as const;
  return `${words[status]}${result === null ? '' : ` ${result}`}`;
}

export async function testChannel(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  const { done, problems } = await attempt(() => call.api.call(testAlertChannel, { params: { id } }));
  const said = done && testWords(done);
  const shown = {
    ...(said === undefined ? {} : { said, isWell: done?.status === 'SUCCESS' }),
    ...(problems ? { problems } : {}),
  };
  return call.form.get('back') === 'list' ? listChannels(call, shown) : editChannel(call, shown);
}

export async function deleteChannel(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  await call.api.call(deleteAlertChannel, { params: { id } });
  return { goTo: '/alerts/channels', toast: 'Channel deleted.' };
}

/** Handles the subscription forms: `all`, a `tag`, or one check or group, and whether it is active. */
export async function subscribe(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const { id = '' } = call.params;
  const activated = form.get('activated') !== 'false';
  const [tag, checkId, groupId] = ['tag', 'checkId', 'groupId'].map((name) => form.get(name));
  const { problems } = await attempt<unknown>(() => {
    const params = { id };
    if (form.has('all')) {
      return api.call(bulkSubscribeAlertChannel, { params, body: { all: true, activated } });
    }
    if (tag) return api.call(bulkSubscribeAlertChannel, { params, body: { tags: [tag], activated } });
    const body = checkId ? { checkId, activated } : { groupId: groupId ? Number(groupId) : null, activated };
    return api.call(updateAlertChannelSubscriptions, { params, body });
  });
  if (problems) return editChannel(call, { problems });
  return { goTo: path`/alerts/channels/${id}`, toast: 'Subscriptions saved.' };
}
