import { maintenanceWindowApi, type WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { withCalendars } from '@picket/service/maintenance/maintenance.ts';
import { counted, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { pager, table } from '../elements/table.ts';
import { statusTabs } from '../elements/tabs.ts';
import { visible } from '../elements/text.ts';
import { bothTimes } from '../elements/zoned-time.ts';
import { type Content, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { ruleWords } from './times.ts';

const rowsPerPage = 50;

/** Lists all maintenance windows with their next occurrence and their effects. */
export async function listWindows({ api, store, viewer, clock, query }: PageCall): Promise<View> {
  const now = clock.wallMs();
  const page = Math.min(100_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { rows: windows, total } = await store.windows.listWithin(
    viewer.accountId,
    {},
    { limit: rowsPerPage, offset: (page - 1) * rowsPerPage },
  );
  const rows = (await withCalendars(store, windows)).map((window) => {
    const [next] = window.calendar.from(now, { limit: 1, offset: 0 });
    return { ...window, next, isInEffect: window.calendar.isInEffect(now) };
  });
  const mayWrite = api.allows(maintenanceWindowApi.routes.create);
  const main = html`${heading(
    'Maintenance',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/pages/maintenance/new">New window</a></div>`
      : '',
  )}${statusTabs('/pages/maintenance')}
<p class="lead soft">Periods in which checks pause, alerts are silent, or status pages announce maintenance.</p>
<div class="dense">${table({
    caption: 'Maintenance windows',
    rows,
    empty: html`No maintenance windows. ${mayWrite ? html`<a href="/pages/maintenance/new">Plan one</a>.` : 'A member with the role Editor can plan one.'}`,
    columns: [
      {
        title: 'Window',
        cell: ({ id, definition }) =>
          html`<a href="${path`/pages/maintenance/${id}`}">${visible(shortened(definition.name, 100))}</a> <span class="small soft">${ruleWords(definition)}</span>`,
      },
      {
        title: 'State',
        cell: ({ isInEffect, next }) =>
          isInEffect
            ? stateBadge('degraded', 'In effect')
            : next
              ? stateBadge('off', 'Planned')
              : stateBadge('missed', 'Over'),
      },
      {
        title: 'Next',
        cell: ({ next, definition }) =>
          next ? bothTimes(next.startsAt, definition.timezone ?? 'UTC') : 'never again',
      },
      { title: 'Effect', cell: ({ definition }) => effectWords(definition) },
    ],
  })}</div>${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/pages/maintenance', { page: other }), of: 'windows' })}`;
  return { main };
}

/** Describes the effects of a window. */
export function effectWords(definition: WindowDefinition): Content {
  const { pauseAllChecks, tags, silenceAllAlerts, silenceAlertsTags, statusPageVisibility } = definition;
  const named = (list: readonly string[]) =>
    list.map((tag) => html`<span class="tag">${visible(shortened(tag, 40))}</span> `);
  const parts = [
    pauseAllChecks
      ? html`pauses every check`
      : tags.length > 0
        ? html`pauses checks tagged ${named(tags)}`
        : '',
    silenceAllAlerts
      ? html`silences every alert`
      : silenceAlertsTags.length > 0
        ? html`silences alerts of checks tagged ${named(silenceAlertsTags)}`
        : '',
    statusPageVisibility?.enabled
      ? statusPageVisibility.statusPageIds.length > 0
        ? html`is on ${counted(statusPageVisibility.statusPageIds.length, 'status page')}`
        : html`is on status pages`
      : '',
  ].filter((part) => part !== '');
  return html`<ul>${parts.map((part) => html`<li>${part}</li>`)}</ul>`;
}
