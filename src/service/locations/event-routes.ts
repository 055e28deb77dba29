import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { locationEventRoutes } from '@picket/protocol/locations/location-event.ts';
import type { LocationEventRow } from './tables.ts';
import { endOf, recordLocationEvents } from './unhealthy.ts';

/** Routes of events that agents report about their location. */
export function locationEventHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(locationEventRoutes, {
    async reportLocationEvents({ caller, body }) {
      const now = clock.wallMs();
      await recordLocationEvents(store, { location: caller, agentId: body.agentId }, body.events, now);
      return { serverTime: now };
    },
    async listLocationEvents({ caller, params, query, request, reply }) {
      if (!(await store.locations.find(caller.accountId, params.id))) {
        throw new AppError('NOT_FOUND', `There is no private location ${params.id}.`);
      }
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.locationEvents.list(params.id, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map((row) => view(row, clock.wallMs()));
    },
  });
}

function view(row: LocationEventRow, now: number) {
  const ended = endOf(row, now);
  return {
    id: row.id,
    agentId: row.agent_id,
    kind: row.kind,
    evidence: row.evidence,
    affectedRuns: row.affected_runs,
    startedAt: new Date(row.started).toISOString(),
    endedAt: ended === null ? null : new Date(ended).toISOString(),
  };
}
