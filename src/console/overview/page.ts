import { findCheckType } from '@picket/checks/index.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { warningsOf } from '@picket/service/checks/warnings/warnings.ts';
import { overviewStates } from '@picket/service/overviews/states.ts';
import type { OverviewFilter, RecentSlot } from '@picket/service/overviews/store.ts';
import { pager } from '../elements/table.ts';
import { html, withQuery } from '../html.ts';
import { newsHeader } from '../live/feed.ts';
import type { Page, PageCall, View } from '../page.ts';
import { examplesLine, hiddenTag } from '../start/examples.ts';
import { firstSteps } from '../start/first-steps.ts';
import { exampleTag } from '../start/progress.ts';
import { type Board, shared } from './board.ts';
import { figuresOf } from './figures.ts';
import { filters } from './filters.ts';
import { groupedRows } from './groups.ts';
import { headline } from './headline.ts';
import { checkRow, type ShownCheck } from './row.ts';
import { sinceOf } from './since.ts';

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
];

async function overview(call: PageCall): Promise<View> {
  const { store, viewer, query, clock, api } = call;
  const { accountId } = viewer;
  const now = clock.wallMs();
  const mayWrite = api.allows(checkRoutes.createCheck);
  const atLeast = Number(call.request.headers[newsHeader]) || 0;
  return shared(
    { store, accountId, now, atLeast },
    `${mayWrite} ${hiddenTag(call) ?? ''} ${query}`,
    (board) => overviewOf(call, board, { now, mayWrite }),
  );
}

async function overviewOf(
  call: PageCall,
  { version, counts: allCounts, choices }: Board,
  { now, mayWrite }: { readonly now: number; readonly mayWrite: boolean },
): Promise<{ answer: View; isWhole: boolean }> {
  const { store, query } = call;
  const { accountId } = call.viewer;
  // An example is shown, although hidden, to a reader who asks for its tag.
  const withoutTag = query.get('tag') === exampleTag ? undefined : hiddenTag(call);
  const filter = { ...filterOf(query), withoutTag };
  const page = Math.max(1, Math.min(1_000_000, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const isByGroup = query.get('by') === 'group';
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined);
  const rows = await store.overviews.list(accountId, filter, {
    page: { limit: rowsPerPage, offset: (page - 1) * rowsPerPage },
    now,
    isByGroup,
  });
  const byGroup = isByGroup ? await store.overviews.groupCounts(accountId, filter, now) : undefined;
  const counts =
    withoutTag === undefined ? allCounts : await store.overviews.counts(accountId, now, { withoutTag });
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const examples = choices.tags.includes(exampleTag)
    ? await store.overviews.total(accountId, { tag: exampleTag }, now)
    : 0;
  // Each count scans all checks: it is queried only if it does not follow from known values.
  const known = isFiltered ? (page === 1 && rows.length < rowsPerPage ? rows.length : undefined) : all;
  const total = known ?? (await store.overviews.total(accountId, filter, now));
  const ids = rows.map(({ id }) => id);
  const [slots, checks] = await Promise.all([
    store.overviews.recentSlots(ids, barsPerRow, now),
    store.checks.findMany(ids),
  ]);
  const figures = await figuresOf(call, ids, newestSlots(slots));
  const warnings = await warningsOf(store, [...checks.values()], now);
  const groups = new Map(choices.groups.map(({ id, name }) => [id, name]));
  const shown = rows.map(
    (row): ShownCheck => ({
      row,
      since: sinceOf(row),
      typeTitle: findCheckType(row.checkType)?.title ?? row.checkType,
      groupName: row.groupId === null ? null : (groups.get(row.groupId) ?? null),
      slots: (slots.get(row.id) ?? []).toReversed(),
      figures: figures.get(row.id),
      warnings: (warnings.get(row.id) ?? []).map(({ message }) => message),
    }),
  );
  const isWhole = figures.size === ids.length;
  const main = html`${headline(counts, shown, now, await store.gaps.checksWithGap(accountId))}${examplesLine(call, { count: examples, areHidden: withoutTag !== undefined })}${mayWrite ? html`<p class="actions"><a class="button${all === 0 ? ' primary' : ''}" href="/checks/new">New check</a></p>` : ''}
${
  all === 0
    ? emptyAccount(call, mayWrite)
    : html`${filters(filter, choices, { counts, total, isByGroup })}
<div id="rows">${
        rows.length === 0
          ? html`<p class="empty">No checks match these filters. <a href="/">Show all ${all}</a></p>`
          : byGroup
            ? groupedRows(shown, byGroup, now)
            : html`<ul class="checks">${shown.map((check) => checkRow(check, now))}</ul>`
      }${pager({
        page,
        pages: Math.ceil(total / rowsPerPage),
        href: (other) => withQuery('/', { ...Object.fromEntries(query), page: other }),
        of: 'checks',
      })}${isWhole ? '' : unfinished}</div>`
}`;
  return { answer: { main, isLive: true, version }, isWhole };
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
