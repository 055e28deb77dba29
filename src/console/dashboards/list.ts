import { type Dashboard, dashboardRoutes } from '@picket/protocol/pages/dashboard.ts';
import { shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { pager, table } from '../elements/table.ts';
import { statusTabs } from '../elements/tabs.ts';
import { visible } from '../elements/text.ts';
import { type Content, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';

const { createDashboard, listDashboards: listRoute } = dashboardRoutes;
const rowsPerPage = 50;

/** Lists all dashboards with their address, checks and visibility. */
export async function listDashboards({ api, query }: PageCall): Promise<View> {
  const page = Math.min(100_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries: dashboards, total } = await api.list(listRoute, { query: { limit: rowsPerPage, page } });
  const mayWrite = api.allows(createDashboard);
  const main = html`${heading(
    'Dashboards',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/pages/dashboards/new">New dashboard</a></div>`
      : '',
  )}${statusTabs('/pages/dashboards')}
<p class="lead soft">Checks selected by tags, for wall screens and for people without an account.</p>
${table({
  caption: 'Dashboards, newest first',
  rows: dashboards,
  empty: html`No dashboards yet. ${mayWrite ? html`<a href="/pages/dashboards/new">Create one</a>.` : 'A member with the role Editor can create one.'}`,
  columns: [
    {
      title: 'Dashboard',
      cell: (one) =>
        mayWrite
          ? html`<a href="${path`/pages/dashboards/${one.dashboardId}`}">${nameOf(one)}</a>`
          : nameOf(one),
    },
    {
      title: 'Address',
      cell: ({ customUrl, customDomain }) =>
        html`<a href="${path`/dashboards/${customUrl}`}">/dashboards/${customUrl}</a>${customDomain === null ? '' : html`<br><code>${customDomain}</code>`}`,
    },
    {
      title: 'Visibility',
      cell: ({ isPrivate }) =>
        isPrivate ? stateBadge('off', 'With a key') : stateBadge('passed', 'Everybody'),
    },
    { title: 'Checks', cell: shownWords },
  ],
})}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/pages/dashboards', { page: other }), of: 'dashboards' })}`;
  return { main };
}

export function nameOf({ header, customUrl }: Pick<Dashboard, 'header' | 'customUrl'>): string {
  return visible(shortened(header || customUrl, 100));
}

function shownWords({ tags, useTagsAndOperator }: Dashboard): Content {
  if (tags.length === 0) return 'all';
  const list = tags.slice(0, 6).map((tag) => html`<span class="tag">${visible(shortened(tag, 40))}</span> `);
  return html`${useTagsAndOperator && tags.length > 1 ? 'all of ' : ''}${list}${tags.length > 6 ? '…' : ''}`;
}
