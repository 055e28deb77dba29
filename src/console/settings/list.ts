import { totalOf } from '@picket/platform/operations/answer.ts';
import { pager, table as tableOf } from '../elements/table.ts';
import { labelOf } from '../forms/view.ts';
import { html, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import type { Shown } from './appearance.ts';
import { nameField, pathOf, type Table } from './tables.ts';
import { settingsTabs } from './tabs.ts';
import { listedFields, shownValue, wordsOf } from './values.ts';

const rowsPerPage = 50;

/** Lists all objects of one resource. */
export async function listTable(call: PageCall, table: Table): Promise<View> {
  const { query, clock } = call;
  const { api, path, title, appearance } = table;
  const now = clock.wallMs();
  const page = Math.min(100_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const answer = await call.api.answer(api.routes.list, { query: { limit: rowsPerPage, page } });
  const [rows, total] = [answer.body as Shown[], totalOf(answer)];
  const mayWrite = call.api.allows(api.routes.create);
  const words = wordsOf(table);
  const known = nameField(table);
  const names = [known, ...listedFields(table).filter((name) => name !== known)];
  const main = html`${heading(
    'Settings',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="${path}/new">New ${table.noun}</a></div>`
      : '',
  )}${settingsTabs(path)}${appearance.lead === undefined ? '' : html`<p class="lead soft">${appearance.lead}</p>`}
${tableOf({
  caption: title,
  rows,
  empty: html`None yet. ${mayWrite ? html`<a href="${path}/new">Create one</a>.` : 'A member with the role Editor can create one.'}`,
  columns: names.map((name) => ({
    title: words[name]?.label ?? (name === 'updated_at' ? 'Changed' : labelOf(name)),
    isMinor: name === 'updated_at',
    cell: (one: Shown) => {
      const value = shownValue(table, one, { name, now, isShort: true });
      return name === known ? html`<a href="${pathOf(table, one)}">${value}</a>` : value;
    },
  })),
})}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery(path, { page: other }), of: api.plural })}`;
  return { main };
}
