import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { monitoringGapRoutes } from '@picket/protocol/alerts/monitoring-gap.ts';
import { explanationOf } from './gap.ts';

/** Routes of monitoring gaps. */
export function monitoringGapHandlers({ store, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(monitoringGapRoutes, {
    async listMonitoringGaps({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { total, gaps } = await store.gaps.list(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      return gaps.map((gap) => ({
        checkId: gap.checkId,
        location: gap.location,
        since: iso(gap.since),
        slots: gap.slots,
        reason: gap.reason,
        explanation: explanationOf(gap),
      }));
    },
  });
}
