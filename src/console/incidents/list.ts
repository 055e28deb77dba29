import { incidentRoutes } from '@picket/protocol/pages/incident.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { statusTabs } from '../elements/tabs.ts';
import { visible } from '../elements/text.ts';
import { html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { incidentBadge } from './words.ts';

const { createIncident, listIncidents: listRoute } = incidentRoutes;
const rowsPerPage = 30;

/** Lists incidents, newest first, with their duration and services. */
export async function listIncidents({ api, query }: PageCall): Promise<View> {
  const nextId = query.get('after')?.slice(0, 100) || undefined;
  const incidents = await api.call(listRoute, {
    query: { limit: rowsPerPage, ...(nextId === undefined ? {} : { nextId }) },
  });
  const mayWrite = api.allows(createIncident);
  const main = html`${heading(
    'Incidents',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/pages/incidents/new">New incident</a></div>`
      : '',
  )}${statusTabs('/pages/incidents')}
<p class="lead soft">Incidents on status pages. Checks open some automatically; people publish the others.</p>
<div class="dense">${table({
    caption: 'Incidents, newest first',
    rows: incidents.entries,
    empty: html`No incidents. ${mayWrite ? html`<a href="/pages/incidents/new">Publish one</a>.` : ''}`,
    columns: [
      { title: 'State', cell: incidentBadge },
      {
        title: 'Incident',
        cell: ({ id, name }) =>
          html`<a href="${path`/pages/incidents/${id}`}">${visible(shortened(name, 120))}</a>`,
      },
      {
        title: 'Affected',
        cell: ({ services, components }) =>
          services.length + components.length === 0
            ? '–'
            : [...services, ...components].map(
                ({ name }) => html`<span class="tag">${visible(shortened(name, 40))}</span> `,
              ),
      },
      { title: 'Started', cell: ({ created_at: at }) => instant(at) },
      {
        title: 'Duration',
        cell: ({ duration: seconds }) => (seconds === null ? 'ongoing' : duration(seconds * 1_000)),
      },
    ],
  })}</div>${
    incidents.nextId === null
      ? ''
      : html`<nav class="pager" aria-label="Pages of incidents"><span></span><a rel="next" href="${withQuery('/pages/incidents', { after: incidents.nextId })}">Older →</a></nav>`
  }`;
  return { main };
}
