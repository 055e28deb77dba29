import { type AlertChannel, alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import type { z } from 'zod';
import { counted, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { pager, table } from '../elements/table.ts';
import { actionButton, notice, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { editChannel } from './channel-editor.ts';
import { channelName, warningWords } from './channel-words.ts';
import { alertTabs } from './tabs.ts';

const { bulkSubscribeAlertChannel, createAlertChannel, deleteAlertChannel, listAlertChannels } =
  alertChannelRoutes;
const { testAlertChannel, updateAlertChannelSubscriptions } = alertChannelRoutes;
const rowsPerPage = 50;

/** Shows the alert channels and their problems. */
export async function listChannels(
  call: PageCall,
  done: { readonly said?: string; readonly isWell?: boolean; readonly problems?: Problems } = {},
): Promise<View> {
  const { api, viewer, query } = call;
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries: channels, total } = await api.list(listAlertChannels, {
    query: { limit: rowsPerPage, page },
  });
  const mayWrite = api.allows(createAlertChannel);
  const main = html`${heading(
    'Alerts',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/alerts/channels/new">New channel</a></div>`
      : '',
  )}${alertTabs('/alerts/channels')}${problemNotice(done.problems)}${done.said === undefined ? '' : notice(done.said, done.isWell ? 'done' : 'refused')}
${table({
  caption: 'Alert channels',
  rows: channels,
  empty: 'No alert channels yet, so no notifications are sent.',
  columns: [
    {
      title: 'Channel',
      cell: (channel) =>
        mayWrite
          ? html`<a href="${path`/alerts/channels/${channel.id}`}">${shortened(channelName(channel), 100)}</a>`
          : shortened(channelName(channel), 100),
    },
    {
      title: 'Status',
      cell: ({ warnings }) =>
        warnings.length === 0
          ? stateBadge('passed', 'Ready')
          : warnings.map(
              (warning) =>
                html`${stateBadge('degraded', 'No subscriptions')}<p class="small">${warningWords(warning)}</p>`,
            ),
    },
    { title: 'When', cell: whenWords },
    {
      title: 'For',
      cell: ({ subscriptions, autoSubscribe }) =>
        `${counted(subscriptions.filter(({ activated }) => activated).length, 'check or group', 'checks and groups')}${autoSubscribe ? ', and new ones automatically' : ''}`,
    },
    ...(mayWrite
      ? [
          {
            title: 'Actions',
            cell: (channel: AlertChannel) =>
              actionButton({
                to: path`/alerts/channels/${channel.id}/test`,
                word: 'Send a test',
                about: shortened(channelName(channel), 60),
                viewer,
                fields: html`<input type="hidden" name="back" value="list">`,
              }),
          },
        ]
      : []),
  ],
})}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/alerts/channels', { page: other }), of: 'channels' })}`;
  return { main, ...(done.problems ? { statusCode: done.problems.statusCode } : {}) };
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
  return { goTo: '/alerts/channels' };
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
  return problems ? editChannel(call, { problems }) : { goTo: path`/alerts/channels/${id}` };
}
