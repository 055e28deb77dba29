import { AppError } from '@picket/lib/errors.ts';
import { checkStates } from '@picket/protocol/checks/check-state.ts';
import { checkRankingRoutes, type RankedCheck } from '@picket/protocol/results/check-ranking.ts';
import type { OverviewFilter, OverviewRow } from '@picket/service/overviews/overview.ts';
import { overviewStates } from '@picket/service/overviews/states.ts';
import { instant } from '../elements/format.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Sorting } from './sorting.ts';

/** Maximum wait of a page for the figures of all checks: the list is sorted in its next state. */
const longestWaitSeconds = 0.3;

/** Errors after which the page requests the figures again: they, or the queue for them, take longer. */
const notReady: ReadonlySet<string> = new Set(['NOT_FINISHED', 'RATE_LIMITED']);

/** A page of the list in the order of a figure. */
export interface RankedRows {
  readonly rows: readonly OverviewRow[];
  /** When the order was determined, in ISO 8601. */
  readonly asOf: string;
}

/** Returns a page of the matching checks in the order of a figure; null while the figures are being computed. */
export async function rankedRows(
  { api, store, viewer }: PageCall,
  filter: OverviewFilter,
  options: {
    readonly sorting: Sorting;
    /** One group after another, each in that order. */
    readonly isByGroup: boolean;
    readonly page: number;
    readonly limit: number;
    readonly now: number;
  },
): Promise<RankedRows | null> {
  const { state, search, checkType, tag, withoutTag, groupId, location } = filter;
  const { sorting, isByGroup, page, limit, now } = options;
  try {
    const { entries, asOf } = await api.call(checkRankingRoutes.rankChecks, {
      query: {
        ...{ search, tag, withoutTag, groupId, location, page, limit },
        by: sorting.by === 'p95' ? 'p95' : 'availability',
        order: sorting.isDescending ? 'desc' : 'asc',
        byGroup: String(isByGroup),
        state: state === undefined ? undefined : checkStates[overviewStates.indexOf(state)],
        checkType: checkType as RankedCheck['checkType'] | undefined,
        maxWaitSeconds: longestWaitSeconds,
      },
    });
    const ids = entries.map(({ checkId }) => checkId);
    const found = await store.overviews.list(
      viewer.accountId,
      { checkIds: ids },
      { page: { limit, offset: 0 }, now },
    );
    const byId = new Map(found.map((row) => [row.id, row]));
    return { rows: ids.flatMap((id) => byId.get(id) ?? []), asOf };
  } catch (thrown) {
    if (thrown instanceof AppError && notReady.has(thrown.code)) return null;
    throw thrown;
  }
}

/** Says what the order of the list is based on. */
export function rankedNotice(ranked: RankedRows | null): Html {
  return ranked === null
    ? html`<p class="hint" role="status">The figures of all checks are being computed. The list is sorted by them in a moment.</p>`
    : html`<p class="hint">In the order of ${instant(ranked.asOf)}.</p>`;
}
