import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { type Subscription, subscriptionRoutes } from '@picket/protocol/pages/subscription.ts';
import { csrfField, textArea } from '../elements/form.ts';
import { counted, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { confirmed, notice, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';

const { createSubscriptions, deleteSubscription, listSubscriptions } = subscriptionRoutes;
const rowsPerPage = 50;

const idOf = ({ params }: PageCall) => ({ statusPageId: params['id'] ?? '' });

/** Shows the subscribers of a page, confirmed and unconfirmed. */
export async function showSubscribers(
  call: PageCall,
  done: { readonly said?: string; readonly problems?: Problems; readonly addresses?: string } = {},
): Promise<View> {
  const { api, query, viewer, store } = call;
  const params = idOf(call);
  const page = await api.call(statusPageRoutes.getStatusPage, { params });
  const nextId = query.get('after')?.slice(0, 100) || undefined;
  const found = await api.call(listSubscriptions, {
    params,
    query: { limit: rowsPerPage, ...(nextId === undefined ? {} : { nextId }) },
  });
  const counts = await store.subscriptions.counts(page.id);
  const mayWrite = api.allows(createSubscriptions);
  const here = path`/pages/status/${page.id}/subscribers`;
  const name = visible(shortened(page.name, 80));
  const main = html`<nav class="crumbs"><a href="/pages/status">Status pages</a> / ${mayWrite ? html`<a href="${path`/pages/status/${page.id}`}">${name}</a>` : name}</nav>${heading('Subscribers')}
${done.said === undefined ? '' : notice(done.said)}${problemNotice(done.problems)}
<p class="lead soft">${counted(counts.VERIFIED, 'address', 'addresses')} subscribed to incidents and maintenance${counts.PENDING === 0 ? '' : `, ${counts.PENDING} not confirmed yet`}.</p>
${table({
  caption: 'Subscribers, newest first',
  rows: found.entries,
  empty: 'No subscribers yet.',
  columns: [
    { title: 'Address', cell: ({ address }) => visible(shortened(address, 120)) },
    {
      title: 'State',
      cell: ({ status }) =>
        status === 'VERIFIED' ? stateBadge('passed', 'Confirmed') : stateBadge('waiting', 'Not confirmed'),
    },
    { title: 'Since', cell: ({ created_at: at }) => instant(at) },
    ...(mayWrite
      ? [
          {
            title: 'Actions',
            cell: ({ id, address }: Subscription): Html =>
              confirmed({
                to: `${here}/${encodeURIComponent(id)}/delete`,
                word: 'Remove…',
                about: shortened(address, 60),
                confirmWord: 'Remove the address',
                question: 'The address gets no more mails about this page. Its owner can subscribe again.',
                viewer,
              }),
          },
        ]
      : []),
  ],
})}${
  found.nextId === null
    ? ''
    : html`<nav class="pager" aria-label="Pages of subscribers"><span></span><a rel="next" href="${withQuery(here, { after: found.nextId })}">Older →</a></nav>`
}
${mayWrite ? section('Add addresses', addForm(viewer, here, done)) : ''}`;
  return { main, ...(done.problems ? { statusCode: done.problems.statusCode } : {}) };
}

function addForm(
  viewer: PageCall['viewer'],
  here: string,
  { addresses = '', problems }: { readonly addresses?: string; readonly problems?: Problems },
): Html {
  const wrong = [...(problems?.fields ?? [])].map(([field, said]) => {
    const line = /\.(\d+)\./.exec(field)?.[1];
    return line === undefined ? said : `Line ${Number(line) + 1}: ${said}`;
  });
  return html`<form class="form" method="post" action="${here}">${csrfField(viewer)}
${textArea({ name: 'addresses', label: 'Addresses', value: addresses, rows: 4, error: wrong[0], hint: 'One per line, at most 100. They get mails without confirmation, so add only people who have agreed.' })}
<button class="button primary" type="submit">Subscribe addresses</button></form>`;
}

export async function addSubscribers(call: PageCall): Promise<PageAnswer> {
  const addresses = call.form.get('addresses') ?? '';
  const subscriptions = addresses
    .split(/\r?\n/)
    .flatMap((line) => line.trim() || [])
    .map((address) => ({ type: 'EMAIL' as const, config: { address } }));
  const { done, problems } = await attempt(() =>
    call.api.call(createSubscriptions, { params: idOf(call), body: { subscriptions } }),
  );
  if (problems) return showSubscribers(call, { problems, addresses });
  const skipped = done.skipped === 0 ? '' : ` ${done.skipped} were already subscribed.`;
  return showSubscribers(call, {
    said: `${counted(done.created, 'address', 'addresses')} subscribed.${skipped}`,
  });
}

export async function removeSubscriber(call: PageCall): Promise<PageAnswer> {
  const params = { ...idOf(call), subscriptionId: call.params['subscription'] ?? '' };
  await call.api.call(deleteSubscription, { params });
  return { goTo: path`/pages/status/${call.params['id'] ?? ''}/subscribers`, toast: 'Subscriber removed.' };
}
