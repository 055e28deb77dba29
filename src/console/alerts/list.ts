import { type AlertEntry, alertEntryRoutes } from '@picket/protocol/alerts/alert-entry.ts';
import { ago, counted, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { pager } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { problemNotice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { burningSection } from './burning.ts';
import { type AlertFilters, filterForm, filtersOf, listAddress, queryOf } from './filters.ts';
import { rowMenu, runOf } from './row-menu.ts';
import { handlingSections } from './silences.ts';
import { alertTabs } from './tabs.ts';
import { handledWords, severitySign, severityState } from './words.ts';

const rowsPerPage = 100;
/** The page of the alert shows all. */
const shownMembers = 50;

/** Shows what is wrong, one row for each cause, gap and location, or what has ended. */
export async function showAlerts(call: PageCall, refused?: Problems): Promise<View> {
  const { api, clock, query, store } = call;
  const now = clock.wallMs();
  const filters = filtersOf(query);
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries, total } = await api.list(alertEntryRoutes.listAlertEntries, {
    query: { ...queryOf(filters, now), limit: rowsPerPage, page },
  });
  const { check } = filters;
  const checkName = check && (await store.checks.find(call.viewer.accountId, check.toLowerCase()))?.name;
  const back = listAddress(filters, { page: page > 1 ? page : undefined });
  const main = html`${heading('Alerts')}${alertTabs('/alerts')}${problemNotice(refused)}
${await filterForm(call, filters, checkName)}
${entries.length === 0 ? html`<p class="empty">${emptyWords(filters)}</p>` : alertTable(call, entries, { filters, now, back })}
${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => listAddress(filters, { page: other }), of: 'alerts' })}
${await burningSection(call, now)}
${await handlingSections(call, now, refused)}`;
  // The page contains forms: it is not refreshed while a user fills them in.
  return { main, ...(refused ? { statusCode: refused.statusCode } : {}) };
}

function emptyWords(filters: AlertFilters): Content {
  if (listAddress(filters) === '/alerts')
    return 'No open alerts: no check is failing, degraded or not measured.';
  const isEnded = filters.state === 'ENDED';
  return html`No ${isEnded ? 'alert has ended in this time' : 'open alert'}${isEnded ? ' that matches' : ' matches'} these filters. <a href="/alerts">Show all open alerts</a>`;
}

interface Shown {
  readonly filters: AlertFilters;
  readonly now: number;
  readonly back: string;
}

function alertTable(call: PageCall, entries: readonly AlertEntry[], shown: Shown): Html {
  const isEnded = shown.filters.state === 'ENDED';
  const titles = ['', 'Alert', 'Where', isEnded ? 'Ended' : 'Since', 'State', 'Notified', ''];
  return html`<div class="table alert-table" tabindex="0" role="region" aria-label="Alerts"><table><caption class="hidden">Alerts, newest first</caption>
<thead><tr>${titles.map((title, index) => html`<th scope="col">${title === '' ? html`<span class="hidden">${index === 0 ? 'Severity' : 'Actions'}</span>` : title}</th>`)}</tr></thead>
${entries.map((entry) => rows(call, entry, shown))}</table></div>`;
}

/** The row of an alert, and under it those of its checks, which fold with scripts. */
function rows(call: PageCall, entry: AlertEntry, { now, back }: Shown): Html {
  const { id, name, reason, whatFailed, memberCount, locations, since, endedAt, notified } = entry;
  const run = runOf(entry);
  const why = reason === null ? '' : visible(shortened(reason, 300));
  const tone = entry.state === 'OPEN' ? ` alert-${severityState(entry)}` : '';
  return html`<tbody class="alert${tone}"><tr>
<td class="alert-sign">${severitySign(entry)}</td>
<td class="alert-what">${memberCount > 1 ? toggle(memberCount, name) : ''}<a class="alert-name" href="${path`/alerts/entries/${id}`}">${visible(shortened(name, 120))}</a>
${why === '' ? '' : run === null ? html`<span class="alert-why" title="${why}">${why}</span>` : html`<a class="alert-why" href="${run}" title="${why}">${why}</a>`}${whatFailed === null ? '' : html` <span class="soft alert-part">(${whatFailed})</span>`}</td>
<td class="alert-where" data-label="Where">${visible(shortened(locations.join(', '), 60))}</td>
<td class="alert-since" data-label="Since">${ago(Date.parse(endedAt ?? since), now)}</td>
<td class="alert-state" data-label="State">${handledWords(entry)}</td>
<td class="alert-notified" data-label="Notified"><span title="${shortened(notified, 300)}">${visible(shortened(notified, 120))}</span></td>
<td class="alert-menu">${rowMenu(call, entry, back)}</td></tr>
${memberCount > 1 ? memberRows(entry, now) : ''}</tbody>`;
}

function toggle(count: number, name: string): Html {
  return html`<button class="alert-toggle" type="button" aria-expanded="false" aria-label="${counted(count, 'check')} of ${shortened(name, 60)}">${icon('chevron-right')}</button>`;
}

function memberRows({ id, members, memberCount }: AlertEntry, now: number): Content {
  const rest = memberCount - Math.min(members.length, shownMembers);
  return [
    members.slice(0, shownMembers).map(
      (member) => html`<tr class="alert-member"><td></td>
<td><a href="${path`/checks/${member.checkId}`}">${visible(shortened(member.name, 100))}</a>${member.checkResultId === null ? '' : html` <a class="soft" href="${path`/checks/${member.checkId}/runs/${member.checkResultId}`}">run</a>`}</td>
<td>${member.location === null ? '' : visible(member.location)}</td>
<td>${ago(Date.parse(member.since), now)}</td>
<td colspan="3">${member.joinedAt === null ? '' : html`joined ${ago(Date.parse(member.joinedAt), now)}`}${member.recoveredAt === null ? '' : html`, recovered ${ago(Date.parse(member.recoveredAt), now)}`}</td></tr>`,
    ),
    rest > 0
      ? html`<tr class="alert-member"><td></td><td colspan="6"><a href="${path`/alerts/entries/${id}`}">${rest} more</a></td></tr>`
      : '',
  ];
}
