import { findCheckType } from '@picket/checks/index.ts';
import type { OverviewChoices, OverviewFilter } from '@picket/service/overviews/overview.ts';
import { type OverviewState, overviewStates } from '@picket/service/overviews/states.ts';
import { states } from '../elements/state.ts';
import { type Html, html, withQuery } from '../html.ts';

/** The query of a list, without its page: links that change one part of it keep the others. */
export function filterQuery(
  filter: OverviewFilter,
  { isByGroup, sort }: { readonly isByGroup: boolean; readonly sort: string | undefined },
): Readonly<Record<string, string | undefined>> {
  return {
    q: filter.search,
    state: filter.state,
    type: filter.checkType,
    tag: filter.tag,
    group: filter.groupId?.toString(),
    location: filter.location,
    by: isByGroup ? 'group' : undefined,
    sort,
  };
}

/** Search and filters. They are part of the address, so that a view can be bookmarked, shared, and saved by name. */
export function filters(
  filter: OverviewFilter,
  choices: OverviewChoices,
  {
    counts,
    total,
    query,
  }: {
    readonly counts: ReadonlyMap<OverviewState, number>;
    readonly total: number;
    readonly query: ReturnType<typeof filterQuery>;
  },
): Html {
  const isByGroup = query['by'] === 'group';
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const tab = (state: OverviewState | undefined, word: string, count: number) =>
    html`<li><a href="${withQuery('/', { ...query, state })}"${filter.state === state ? html` aria-current="true"` : ''}>${word} <span class="count">${count}</span></a></li>`;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const kept = (['state', 'by', 'sort'] as const).map((name) =>
    query[name] === undefined ? '' : html`<input type="hidden" name="${name}" value="${query[name]}">`,
  );
  return html`<div class="filters"><div class="filters-line"><ul class="tabs" aria-label="States">${tab(undefined, 'All', all)}${overviewStates.map(
    (state) => {
      const count = counts.get(state) ?? 0;
      return count > 0 || filter.state === state ? tab(state, states[state].word, count) : '';
    },
  )}</ul><div id="saved-filters" class="saved" hx-morph-skip></div></div>
<form class="filters-now" method="get" action="/" role="search" hx-get="/" hx-target="#rows" hx-select="#rows" hx-swap="outerMorph" hx-push-url="true" hx-trigger="input delay:250ms, submit">
${kept}
<label class="hidden" for="search">Search names and addresses</label>
<input id="search" type="search" name="q" value="${filter.search ?? ''}" placeholder="Search names and addresses">
${select(
  'type',
  'Type',
  filter.checkType,
  choices.types.map((type) => [type, findCheckType(type)?.title ?? type]),
)}
${select(
  'group',
  'Group',
  filter.groupId?.toString(),
  choices.groups.map(({ id, name }) => [String(id), name]),
)}
${select(
  'tag',
  'Tag',
  filter.tag,
  choices.tags.map((tag) => [tag, tag]),
)}
${select(
  'location',
  'Location',
  filter.location,
  choices.locations.map((name) => [name, name]),
)}
<button class="button" type="submit">Filter</button>
${choices.groups.length > 0 ? html`<a class="small" href="${withQuery('/', { ...query, by: isByGroup ? undefined : 'group' })}">${isByGroup ? 'Single list' : 'By group'}</a>` : ''}
${isFiltered ? html`<a class="small" href="/">Clear · ${total} found</a>` : ''}
</form></div>`;
}

function select(
  name: string,
  label: string,
  value: string | undefined,
  choices: readonly (readonly [string, string])[],
): Html | '' {
  if (choices.length < 2 && value === undefined) return '';
  return html`<label class="hidden" for="filter-${name}">${label}</label><select id="filter-${name}" name="${name}"><option value="">${label}: any</option>${choices.map(
    ([key, word]) => html`<option value="${key}"${key === value ? html` selected` : ''}>${word}</option>`,
  )}</select>`;
}
