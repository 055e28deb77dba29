import { type AuditEntry, auditLogRoutes, auditOutcomes } from '@picket/protocol/accounts/audit-log.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { changes, outcomeWords, what, who } from '../history/entry.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { accountTabs } from './tabs.ts';

const rowsPerPage = 50;
const filterNames = ['resource', 'operation', 'outcome', 'actorId', 'from', 'to'] as const;
type Filters = { readonly [Name in (typeof filterNames)[number]]?: string };

/** Shows the audit log: changes with their actor, address, time and outcome. */
export async function showAudit(call: PageCall): Promise<View> {
  const { api, viewer, query } = call;
  const filters = filtersOf(query);
  const nextId = /^\d{1,15}\.[0-9a-f-]{36}$/.exec(query.get('nextId') ?? '')?.[0];
  const { outcome, ...texts } = filters;
  const { entries, nextId: next } = await api.call(auditLogRoutes.listAuditLog, {
    query: {
      limit: rowsPerPage,
      ...texts,
      ...(outcome === undefined ? {} : { outcome: outcome as AuditEntry['outcome'] }),
      ...(nextId === undefined ? {} : { nextId }),
    },
  });
  const isAdmin = viewer.role === 'ADMIN';
  const main = html`${heading('Account')}${accountTabs('/account/audit', viewer)}
${filterForm(filters)}
${
  filters.actorId === undefined
    ? ''
    : html`<p class="small">Only by ${entries[0]?.actor.name ?? 'one key or member'}. <a href="${withQuery('/account/audit', { ...filters, actorId: undefined })}">By anyone</a></p>`
}
${table({
  caption: 'Audit log, newest first',
  rows: entries,
  empty: 'No matching changes in the retention period.',
  columns: [
    { title: 'When', cell: ({ created_at }) => instant(created_at) },
    { title: 'Who', cell: ({ actor, address }) => who(actor, isAdmin ? address : null) },
    { title: 'What', cell: (entry) => what(entry) },
    { title: 'Object', cell: (entry) => ofWhat(entry) },
    { title: 'Before and after', cell: changes },
  ],
})}${
  next === null
    ? ''
    : html`<nav class="pager" aria-label="Pages of the audit log"><span></span><a rel="next" href="${withQuery('/account/audit', { ...filters, nextId: next })}">Older →</a></nav>`
}`;
  return { title: 'Audit log', main };
}

/** Keeps valid filters only: a mistyped link shows the rest. */
function filtersOf(query: URLSearchParams): Filters {
  const given = filterNames.flatMap((name) => {
    const value = query.get(name)?.trim() ?? '';
    const fits = {
      resource: value.length <= 300,
      operation: value.length <= 100,
      outcome: auditOutcomes.some((one) => one === value),
      actorId: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
      from: parseTimestamp(value) !== null,
      to: parseTimestamp(value) !== null,
    } as const;
    return value !== '' && fits[name] ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

function filterForm({
  resource = '',
  operation = '',
  outcome = '',
  actorId,
  from = '',
  to = '',
}: Filters): Html {
  return html`<form class="filters" method="get" action="/account/audit"><div class="filter-row">
${actorId === undefined ? '' : html`<input type="hidden" name="actorId" value="${actorId}">`}
<label>Object <input type="search" name="resource" value="${resource}" placeholder="checks/…"></label>
<label>What <input type="search" name="operation" value="${operation}" placeholder="updateCheck"></label>
<label>Outcome <select name="outcome"><option value="">any</option>${auditOutcomes.map(
    (one) =>
      html`<option value="${one}"${one === outcome ? html` selected` : ''}>${outcomeWords[one]}</option>`,
  )}</select></label>
<label>From <input type="date" name="from" value="${from.slice(0, 10)}"></label>
<label>To before <input type="date" name="to" value="${to.slice(0, 10)}"></label>
<button class="button" type="submit">Show</button></div></form>`;
}

/** Paths of the pages of resources. */
const placesOf: Readonly<Record<string, (id: string) => string>> = {
  checks: (id) => path`/checks/${id}`,
  'private-locations': (id) => path`/locations/${id}`,
  'alert-channels': (id) => path`/alerts/channels/${id}`,
};

function ofWhat({ resource, resourceName }: AuditEntry): Content {
  if (resource === null) return '';
  const [kind = '', id = ''] = resource.split('/');
  const place = placesOf[kind];
  const name = resourceName === null ? resource : resourceName;
  const shown = visible(shortened(name, 80));
  const history = withQuery('/account/audit', { resource });
  return html`${place && id !== '' ? html`<a href="${place(id)}">${shown}</a>` : shown} <a class="small" href="${history}" title="${resource}">History of it</a>`;
}
