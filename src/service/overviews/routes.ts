import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { checkRankingRoutes, type RankedCheck } from '@picket/protocol/results/check-ranking.ts';
import type { MatchingCheck } from './overview.ts';
import type { DayFigures, Rankings } from './rankings.ts';
import { shownStates } from './states.ts';

const none: DayFigures = { availability: null, p95Ms: null };

/** Routes of lists of many checks. */
export function overviewHandlers(
  deps: HandlerDeps & { readonly rankings: Rankings },
): [string, AnyHandler][] {
  const { store, clock, rankings, publicUrl } = deps;
  return handlersById(checkRankingRoutes, {
    async rankChecks({ caller: { accountId }, query, request, reply }) {
      const { by, order, byGroup, state, maxWaitSeconds, limit: _limit, page: _page, ...filter } = query;
      const standing = await rankings.of(accountId, maxWaitSeconds * 1_000, request.signal);
      if (standing === undefined) {
        throw new AppError(
          'NOT_FINISHED',
          'The figures of the checks are being computed. Request them again.',
        );
      }
      const shownState = state === undefined ? undefined : shownStates[state];
      const checks = await store.overviews.matching(
        accountId,
        { ...filter, state: shownState },
        { now: clock.wallMs(), isByGroup: byGroup },
      );
      const figuresOf = (id: string) => standing.figures.get(id) ?? none;
      const figureOf = (id: string) => (by === 'p95' ? figuresOf(id).p95Ms : figuresOf(id).availability);
      const sign = order === 'desc' ? -1 : 1;
      const inOrder = (some: readonly MatchingCheck[]) =>
        some.toSorted((left, right) => {
          const [one, other] = [figureOf(left.id), figureOf(right.id)];
          if (one === null || other === null) return Number(one === null) - Number(other === null);
          return (one - other) * sign;
        });
      const ranked = byGroup
        ? [...Map.groupBy(checks, ({ groupId }) => groupId).values()].flatMap(inOrder)
        : inOrder(checks);
      const offset = pageOffset(query);
      describePage(request, reply, { query, total: ranked.length, publicUrl });
      return {
        asOf: iso(standing.asOf),
        total: ranked.length,
        entries: ranked.slice(offset, offset + query.limit).map(({ id, name, checkType }) => ({
          checkId: id,
          name,
          checkType: checkType as RankedCheck['checkType'],
          availability: figuresOf(id).availability,
          p95: figuresOf(id).p95Ms,
        })),
      };
    },
  });
}
