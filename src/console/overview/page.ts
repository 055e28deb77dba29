import { findCheckType } from '@picket/checks/index.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { warningsOf } from '@picket/service/checks/warnings/warnings.ts';
import type { OverviewFilter, OverviewRow, RecentSlot } from '@picket/service/overviews/overview.ts';
import { overviewStates } from '@picket/service/overviews/states.ts';
import { pager } from '../elements/table.ts';
import { type Html, html, withQuery } from '../html.ts';
import { newsHeader } from '../live/feed.ts';
import type { Page, PageCall, View } from '../page.ts';
import { examplesLine, hiddenTag } from '../start/examples.ts';
import { firstSteps } from '../start/first-steps.ts';
import { exampleTag } from '../start/progress.ts';
import { unservedBanners } from './banners.ts';
import { type Board, shared } from './board.ts';
import { changeSelected } from './bulk.ts';
import { bulkForm, maySelect } from './bulk-form.ts';
import { figuresOf } from './figures.ts';
import { filterQuery, filters } from './filters.ts';
import { headline } from './headline.ts';
import { checkTable } from './list.ts';
import { rankedNotice, rankedRows } from './ranked.ts';
import type { ShownCheck } from './row.ts';
import { sinceOf } from './since.ts';
import { sortedByFigure, sortingOf, storedOrder } from './sorting.ts';

const rowsPerPage = 50;
export const barsPerRow = 30;

export const overviewPages: readonly Page[] = [
  {
    path: '/',
    title: 'Overview',
    navigation: { word: 'Overview', icon: 'pulse' },
    role: 'READ_ONLY',
    handler: overview,
  },
  {
    method: 'POST',
    path: '/checks/selected',
    title: 'Change several checks',
    role: 'READ_RUN',
    handler: changeSelected,
  },
];

/** Content for all readers with the same rights and the same request. */
interface SharedOverview {
  readonly top: Html;
  readonly main: Html;
  readonly examples: { readonly count: number; readonly areHidden: boolean };
  readonly version: number;
  readonly failing: number;
  /** Groups to which the listed checks can be moved; null without a listed check. */
  readonly groups: Board['choices']['groups'] | null;
}

async function overview(call: PageCall): Promise<View> {
  const { store, viewer, query, clock, api } = call;
  const { accountId } = viewer;
  const now = clock.wallMs();
  const rights = { mayWrite: api.allows(checkRoutes.createCheck), isSelectable: maySelect(call) };
  const atLeast = Number(call.request.headers[newsHeader]) || 0;
  const key = `${rights.mayWrite} ${rights.isSelectable} ${hiddenTag(call) ?? ''} ${query}`;
  const { groups, top, examples, ...seen } = await shared({ store, accountId, now, atLeast }, key, (board) =>
    overviewOf(call, board, { now, ...rights }),
  );
  // Forms hold a token of the viewer's session: they are not shared.
  const bulk = rights.isSelectable && groups ? bulkForm(call, groups) : '';
  const main = html`${top}${examplesLine(call, examples)}${seen.main}${bulk}`;
  return { ...seen, main, isLive: true };
}

async function overviewOf(
  call: PageCall,
  { version, counts: allCounts, choices }: Board,
  rights: { readonly now: number; readonly mayWrite: boolean; readonly isSelectable: boolean },
): Promise<{ answer: SharedOverview; isWhole: boolean }> {
  const { store, query } = call;
  const { accountId } = call.viewer;
  const { now, mayWrite } = rights;
  // An example is shown, although hidden, to a reader who asks for its tag.
  const withoutTag = query.get('tag') === exampleTag ? undefined : hiddenTag(call);
  const filter = { ...filterOf(query), withoutTag };
  const sorting = sortingOf(query);
  const page = Math.max(1, Math.min(1_000_000, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const isByGroup = query.get('by') === 'group';
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined);
  const byGroup = isByGroup ? await store.overviews.groupCounts(accountId, filter, now) : undefined;
  const counts =
    withoutTag === undefined ? allCounts : await store.overviews.counts(accountId, now, { withoutTag });
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const count = choices.tags.includes(exampleTag)
    ? await store.overviews.total(accountId, { tag: exampleTag }, now)
    : 0;
  const examples = { count, areHidden: withoutTag !== undefined };
  const isByFigure = sorting.by === 'day' || sorting.by === 'p95';
  const unfiltered = isFiltered ? undefined : all;
  const size = isByFigure ? (unfiltered ?? (await store.overviews.total(accountId, filter, now))) : undefined;
  const isRanked = size !== undefined && size > rowsPerPage;
  const ranked = isRanked
    ? await rankedRows(call, filter, { sorting, isByGroup, page, limit: rowsPerPage, now })
    : null;
  const rows =
    ranked?.rows ??
    (await store.overviews.list(accountId, filter, {
      page: { limit: rowsPerPage, offset: (page - 1) * rowsPerPage },
      now,
      isByGroup,
      order: storedOrder(sorting),
    }));
  // Each count scans all checks: it is queried only if it does not follow from known values.
  const known = size ?? unfiltered ?? (page === 1 && rows.length < rowsPerPage ? rows.length : undefined);
  const total = known ?? (await store.overviews.total(accountId, filter, now));
  const { shown, isWhole: hasFigures } = await shownChecks(call, rows, { now, groups: choices.groups });
  const isWhole = hasFigures && !(isRanked && ranked === null);
  const isComplete = total <= rowsPerPage;
  const queryNow = filterQuery(filter, { isByGroup, sort: query.get('sort') ?? undefined });
  const list = () =>
    checkTable(isComplete || ranked ? sortedByFigure(shown, sorting, isByGroup) : shown, {
      ...rights,
      ...{ sorting, byGroup, query: queryNow },
    });
  const top = html`<div class="overview-top">${headline(counts, shown, now, await store.gaps.checksWithGap(accountId))}${mayWrite ? html`<p class="actions"><a class="button${all === 0 ? ' primary' : ''}" href="/checks/new">New check</a></p>` : ''}</div>`;
  const main = html`${
    all === 0
      ? emptyAccount(call, mayWrite)
      : html`${await unservedBanners(call, now)}${filters(filter, choices, { counts, total, query: queryNow })}
<div id="rows">${
          rows.length === 0
            ? html`<p class="empty">No checks match these filters. <a href="/">Show all ${all}</a></p>`
            : html`${list()}${isRanked ? rankedNotice(ranked) : ''}`
        }${pager({
          page,
          pages: Math.ceil(total / rowsPerPage),
          href: (other) => withQuery('/', { ...Object.fromEntries(query), page: other }),
          of: 'checks',
        })}${isWhole ? '' : unfinished}</div>`
  }`;
  const groups = rows.length === 0 ? null : choices.groups;
  return { answer: { top, main, examples, version, failing: counts.get('failed') ?? 0, groups }, isWhole };
}

/** Reads what the rows show besides the state of their checks. */
async function shownChecks(
  call: PageCall,
  rows: readonly OverviewRow[],
  { now, groups }: { readonly now: number; readonly groups: Board['choices']['groups'] },
): Promise<{ readonly shown: readonly ShownCheck[]; readonly isWhole: boolean }> {
  const { store } = call;
  const ids = rows.map(({ id }) => id);
  const [slots, checks] = await Promise.all([
    store.overviews.recentSlots(ids, barsPerRow, now),
    store.checks.findMany(ids),
  ]);
  const figures = await figuresOf(call, ids, newestSlots(slots));
  const warnings = await warningsOf(store, [...checks.values()], now);
  const names = new Map(groups.map(({ id, name }) => [id, name]));
  const shown = rows.map((row): ShownCheck => {
    const type = findCheckType(row.checkType);
    return {
      row,
      since: sinceOf(row),
      typeTitle: type?.title ?? row.checkType,
      typeIcon: type?.icon ?? 'question',
      groupName: row.groupId === null ? null : (names.get(row.groupId) ?? null),
      slots: (slots.get(row.id) ?? []).toReversed(),
      figures: figures.get(row.id),
      warnings: (warnings.get(row.id) ?? []).map(({ message }) => message),
    };
  });
  return { shown, isWhole: figures.size === ids.length };
}

/** Returns the newest ended scheduled slot of each check. */
function newestSlots(slots: ReadonlyMap<string, readonly RecentSlot[]>): Map<string, string> {
  return new Map(
    [...slots].flatMap(([id, own]) => {
      const newest = own.find(
        (slot) => !slot.isOnDemand && slot.state !== 'queued' && slot.state !== 'leased',
      );
      return newest === undefined ? [] : [[id, newest.id] as const];
    }),
  );
}

/** Marks missing figures: the page requests itself again. */
const unfinished = html`<p data-unfinished hidden></p>`;

function emptyAccount(call: PageCall, mayWrite: boolean) {
  if (mayWrite) return firstSteps(call);
  return html`<p class="empty">No checks yet. A member with the role Editor can create one.</p>`;
}

function filterOf(query: URLSearchParams): OverviewFilter {
  const text = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  const group = Number(text('group'));
  const state = text('state');
  return {
    search: text('q'),
    state: overviewStates.find((one) => one === state),
    checkType: text('type'),
    tag: text('tag'),
    location: text('location'),
    groupId: Number.isSafeInteger(group) && group > 0 ? group : undefined,
  };
}
