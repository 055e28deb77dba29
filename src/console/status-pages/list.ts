import { type StatusPage, statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { counted, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { statusTabs } from '../elements/tabs.ts';
import { visible } from '../elements/text.ts';
import { html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';

const { createStatusPage, listStatusPages } = statusPageRoutes;
const rowsPerPage = 30;

/** Lists all status pages with their address and contents. */
export async function listPages({ api, query }: PageCall): Promise<View> {
  const nextId = query.get('after')?.slice(0, 100) || undefined;
  const pages = await api.call(listStatusPages, {
    query: { limit: rowsPerPage, ...(nextId === undefined ? {} : { nextId }) },
  });
  const mayWrite = api.allows(createStatusPage);
  const main = html`${heading(
    'Status pages',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/pages/status/new?version=3">New status page</a><a class="button" href="/pages/status/new">New page with cards</a></div>`
      : '',
  )}${statusTabs('/pages/status')}
<p class="lead soft">Pages for your customers: your services, their incidents and maintenance, and their measured uptime.</p>
${table({
  caption: 'Status pages, newest first',
  rows: pages.entries,
  empty: html`No status pages yet. ${mayWrite ? html`<a href="/pages/status/new?version=3">Create one</a>.` : 'A member with the role Editor can create one.'}`,
  columns: [
    {
      title: 'Page',
      cell: ({ id, name }) =>
        mayWrite
          ? html`<a href="${path`/pages/status/${id}`}">${visible(shortened(name, 100))}</a>`
          : visible(shortened(name, 100)),
    },
    {
      title: 'Address',
      cell: ({ url, customDomain }) =>
        html`<a href="${path`/status/${url}`}">/status/${url}</a>${customDomain === null ? '' : html`<br><code>${customDomain}</code>`}`,
    },
    {
      title: 'Visibility',
      cell: ({ isPrivate }) =>
        isPrivate ? stateBadge('off', 'With a key') : stateBadge('passed', 'Everybody'),
    },
    { title: 'Content', cell: shownWords },
    {
      title: 'Subscribers',
      cell: ({ id, name }) =>
        html`<a href="${path`/pages/status/${id}/subscribers`}" aria-label="Subscribers of ${shortened(name, 60)}">Subscribers</a>`,
    },
  ],
})}${
  pages.nextId === null
    ? ''
    : html`<nav class="pager" aria-label="Pages of status pages"><span></span><a rel="next" href="${withQuery('/pages/status', { after: pages.nextId })}">Older →</a></nav>`
}`;
  return { main };
}

function shownWords({ cards, version }: StatusPage): string {
  if (version === 3) return 'Components';
  const services = new Set(cards.flatMap((card) => card.services.map(({ id }) => id)));
  return `${counted(services.size, 'service')} on ${counted(cards.length, 'card')}`;
}
