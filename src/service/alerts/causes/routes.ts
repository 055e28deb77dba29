import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { type AlertCause, alertCauseRoutes, type CauseOfAlert } from '@picket/protocol/alerts/alert-cause.ts';
import type { OpenCause } from './open-cause.ts';

/** Routes of causes. */
export function alertCauseHandlers({ store, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(alertCauseRoutes, {
    async listAlertCauses({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const filter = { accountId: caller.accountId, isOpen: query.isOpen };
      const { causes, total } = await store.alertCauses.list(filter, page);
      describePage(request, reply, { query, total, publicUrl });
      return causes.map(causeView);
    },
    async getAlertCause({ caller, params }) {
      const cause = await store.alertCauses.find(caller.accountId, params.id);
      return causeView(found(cause, `alert cause ${params.id}`));
    },
  });
}

/** A cause as shown with an alert. */
export function causeOfAlert({ id, kind, evidence, reason, members }: OpenCause): CauseOfAlert {
  return { id, kind, evidence, reason, memberCount: members.length };
}

function causeView(cause: OpenCause): AlertCause {
  const { began, opened, closed, isLocationsOwn, members } = cause;
  return {
    ...causeOfAlert(cause),
    recoveredCount: members.filter(({ recovered }) => recovered !== null).length,
    startedAt: iso(began),
    openedAt: iso(opened),
    closedAt: closed === null ? null : iso(closed),
    isLocationsOwn,
    members: members.map(({ fact, alertId, joined, recovered }) => ({
      checkId: fact.checkId,
      checkName: fact.name,
      checkAlertId: alertId,
      since: iso(fact.since),
      joinedAt: iso(joined),
      recoveredAt: recovered === null ? null : iso(recovered),
    })),
  };
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
