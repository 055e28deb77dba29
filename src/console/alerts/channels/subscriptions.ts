import type { AlertChannel } from '@picket/protocol/alerts/alert-channel.ts';
import { csrfField } from '../../elements/form.ts';
import { shortened } from '../../elements/format.ts';
import { stateBadge } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { actionButton } from '../../forms/action.ts';
import { type Html, html, path } from '../../html.ts';
import type { PageCall } from '../../page.ts';

/** Maximum number of checks in the selection; for more, use tags. */
const mostChoices = 500;
const mostRows = 200;

/** Shows the subscriptions of a channel, with the forms that change them. */
export async function subscriptionsSection(call: PageCall, channel: AlertChannel): Promise<Html> {
  const { store, viewer, clock } = call;
  const { accountId } = viewer;
  const to = path`/alerts/channels/${channel.id}/subscriptions`;
  const [choices, checks, subscribed] = await Promise.all([
    store.overviews.choices(accountId),
    store.overviews.list(accountId, {}, { page: { limit: mostChoices, offset: 0 }, now: clock.wallMs() }),
    store.checks.findMany(channel.subscriptions.flatMap(({ checkId }) => checkId ?? []).slice(0, mostRows)),
  ]);
  const groupNames = new Map(choices.groups.map(({ id, name }) => [id, name]));
  const taken = new Set(channel.subscriptions.map(({ checkId }) => checkId));
  const free = checks.filter(({ id }) => !taken.has(id));
  const rows = channel.subscriptions.slice(0, mostRows).map((one) => ({
    ...one,
    name:
      one.checkId === null
        ? `Group ${groupNames.get(one.groupId ?? 0) ?? one.groupId}`
        : String(subscribed.get(one.checkId)?.definition['name'] ?? one.checkId),
  }));
  return html`<section><h2>Subscriptions</h2>${table({
    caption: 'Subscriptions',
    rows,
    empty: 'No subscriptions: this channel gets no notifications.',
    columns: [
      {
        title: 'Check or group',
        cell: ({ checkId, name }) =>
          checkId === null
            ? shortened(name, 100)
            : html`<a href="${path`/checks/${checkId}`}">${shortened(name, 100)}</a>`,
      },
      {
        title: 'State',
        cell: ({ activated }) => (activated ? stateBadge('passed', 'On') : stateBadge('off', 'Off')),
      },
      {
        title: 'Actions',
        cell: ({ checkId, groupId, activated, name }) =>
          actionButton({
            to,
            word: activated ? 'Switch off' : 'Switch on',
            about: shortened(name, 60),
            viewer,
            fields: html`<input type="hidden" name="${checkId === null ? 'groupId' : 'checkId'}" value="${checkId ?? groupId}"><input type="hidden" name="activated" value="${String(!activated)}">`,
          }),
      },
    ],
  })}${channel.subscriptions.length > mostRows ? html`<p class="hint">The first ${mostRows} of ${channel.subscriptions.length}. The API returns all.</p>` : ''}
<div class="filter-row after">${actionButton({ to, word: 'Subscribe all checks', viewer, fields: html`<input type="hidden" name="all" value="true">` })}
${choice(
  call,
  to,
  'checkId',
  'One check',
  free.map(({ id, name }) => [id, shortened(name, 60)]),
)}
${choice(
  call,
  to,
  'tag',
  'Checks with a tag',
  choices.tags.map((tag) => [tag, shortened(tag, 60)]),
)}
${choice(
  call,
  to,
  'groupId',
  'A group',
  choices.groups.map(({ id, name }) => [String(id), shortened(name, 60)]),
)}</div></section>`;
}

function choice(
  { viewer }: PageCall,
  to: string,
  name: string,
  label: string,
  options: readonly (readonly [value: string, word: string])[],
): Html | '' {
  if (options.length === 0) return '';
  return html`<form class="filter-row" method="post" action="${to}">${csrfField(viewer)}<label>${label} <select name="${name}">${options.map(([value, word]) => html`<option value="${value}">${word}</option>`)}</select></label><button class="button" type="submit" aria-label="Subscribe: ${label}">Subscribe</button></form>`;
}
