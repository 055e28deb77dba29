import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, handlersById, iso, optionalIso } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { alertHandlingRoutes, maxSilenceMs, type OpenAlert } from '@picket/protocol/alerts/alert-handling.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { isOpen, parseState, type StoredState } from '../stored-state.ts';
import type { AlertStateRow } from '../tables.ts';
import type { Actor } from './actor.ts';
import { unknownActor } from './actor.ts';
import { acknowledge, endSilence, type HandlingAction, silence } from './handle.ts';
import { notifiedOf } from './notified.ts';
import { type AlertPageDeps, alertPageHandlers } from './page-routes.ts';
import type { StoredSilence } from './store.ts';

const actorOf = storedValue<Actor>('alert_actions.actor', unknownActor);

const states = { passed: 'PASSING', degraded: 'DEGRADED', failed: 'FAILING' } as const;

/** Routes for handling alerts: open alerts, acknowledgements, silences, and the page. */
export function alertHandlingHandlers(deps: AlertPageDeps): [string, AnyHandler][] {
  const { store, clock, publicUrl } = deps;
  const page = (query: { limit: number; page: number }) => ({
    limit: query.limit,
    offset: pageOffset(query),
  });
  const deedOf = (caller: AccountCaller, comment: string | null): HandlingAction => ({
    accountId: caller.accountId,
    actor: caller.actor,
    comment,
    now: clock.wallMs(),
  });
  const tell = (hasNews: boolean) => {
    if (hasNews) store.signals.send([{ kind: 'alerts' }]);
  };
  const { showAlertPage: _show, handleAlertByPage: _handle, ...routes } = alertHandlingRoutes;
  const handlers = handlersById(routes, {
    async listOpenAlerts({ caller, query, request, reply }) {
      const rows = await store.alerts.statesOf(caller.accountId);
      const open = rows.filter((row) => isOpen(parseState(row)));
      describePage(request, reply, { query, total: open.length, publicUrl });
      const { offset, limit } = page(query);
      return openAlerts(store, open.slice(offset, offset + limit), clock.wallMs());
    },
    async acknowledgeAlert({ caller, params, body }) {
      const { accountId } = caller;
      const check = found(await store.checks.find(accountId, params.id), `check ${params.id}`);
      const deed = deedOf(caller, body?.comment ?? null);
      const done = await store.transaction((repositories) =>
        acknowledge(repositories, check.id, false, deed),
      );
      if (!done) throw nothingOpen(check.id);
      tell(done.hasNews);
      const rows = (await store.alerts.statesOf(accountId)).filter((row) => row.check_id === check.id);
      const [shown] = await openAlerts(store, rows, deed.now);
      // It may have recovered in between.
      if (!shown) throw nothingOpen(check.id);
      return shown;
    },
    async withdrawAcknowledgement({ caller, params }) {
      const check = found(await store.checks.find(caller.accountId, params.id), `check ${params.id}`);
      const deed = deedOf(caller, null);
      const done = await store.transaction((repositories) => acknowledge(repositories, check.id, true, deed));
      if (!done) throw nothingOpen(check.id);
      tell(done.hasNews);
    },
    async listAlertActions({ caller, query, request, reply }) {
      const { total, actions } = await store.alertActions.list(caller.accountId, page(query));
      describePage(request, reply, { query, total, publicUrl });
      return actions.map((row) => ({
        id: row.id,
        action: row.action,
        checkId: row.check_id,
        silenceId: row.silence_id,
        comment: row.comment,
        by: actorOf(row.actor),
        created_at: iso(row.created),
      }));
    },
    async listSilences({ caller, query, request, reply }) {
      const now = clock.wallMs();
      const filter = { accountId: caller.accountId, isActive: query.active, now };
      const { total, silences } = await store.silences.list(filter, page(query));
      describePage(request, reply, { query, total, publicUrl });
      return silences.map((one) => silenceView(one, now));
    },
    async createSilence({ caller, body }) {
      const { accountId } = caller;
      const { checkId = null, tags = null, location = null, comment, minutes } = body;
      const deed = deedOf(caller, comment);
      const endsAt = minutes === undefined ? Date.parse(body.endsAt ?? '') : deed.now + minutes * 60_000;
      if (endsAt <= deed.now)
        throw fieldError('payload', [{ key: 'endsAt', message: 'must be in the future' }]);
      if (endsAt - deed.now > maxSilenceMs) {
        throw fieldError('payload', [{ key: 'endsAt', message: 'must be at most 366 days in the future' }]);
      }
      const lowerCaseId = checkId?.toLowerCase() ?? null;
      if (lowerCaseId !== null && !(await store.checks.find(accountId, lowerCaseId))) {
        throw fieldError('payload', [{ key: 'checkId', message: `names no check: ${lowerCaseId}` }]);
      }
      const scope = { checkId: lowerCaseId, tags, location };
      const made = await store.transaction((repositories) => silence(repositories, scope, endsAt, deed));
      tell(true);
      return silenceView(made, deed.now);
    },
    async getSilence({ caller, params }) {
      const known = found(await store.silences.find(caller.accountId, params.id), `silence ${params.id}`);
      return silenceView(known, clock.wallMs());
    },
    async endSilence({ caller, params }) {
      found(await store.silences.find(caller.accountId, params.id), `silence ${params.id}`);
      const deed = deedOf(caller, null);
      tell(await store.transaction((repositories) => endSilence(repositories, params.id, deed)));
    },
  });
  return [...handlers, ...alertPageHandlers(deps)];
}

function nothingOpen(checkId: string): AppError {
  return new AppError(
    'CONFLICT',
    `Check ${checkId} neither fails nor is degraded, so it has no alert to acknowledge.`,
  );
}

/** Stored states of checks as responses show them, without those of deleted checks. */
async function openAlerts(store: Store, rows: readonly AlertStateRow[], now: number) {
  const ids = rows.map((row) => row.check_id);
  const policies = await alertPolicies(store, ids, now);
  const open = rows.flatMap((row) => {
    const policy = policies.get(row.check_id);
    return policy ? [{ policy, state: parseState(row) }] : [];
  });
  const notified = await notifiedOf(store, open);
  return open.flatMap(({ policy, state }, index) => {
    const known = notified[index];
    return known ? [openAlertView(policy, state, known)] : [];
  });
}

function openAlertView(
  policy: AlertPolicy,
  { alert, trend, ...state }: StoredState,
  notified: OpenAlert['notified'],
) {
  const { acknowledgement } = state;
  return {
    checkId: policy.check.id,
    name: policy.check.name,
    state: states[alert.phase],
    isFlapping: trend.isFlapping,
    since: optionalIso(state.episodeSince ?? null),
    isNotified: notified.channels.some(({ status }) => status === 'SUCCESS' || status === 'IN_PROGRESS'),
    notified,
    remindersSent: alert.remindersSent,
    checkResultId: state.lastResultId,
    acknowledgement: acknowledgement
      ? { at: iso(acknowledgement.at), by: acknowledgement.by, comment: acknowledgement.comment }
      : null,
    silencedUntil: optionalIso(policy.silenceAt(state.lastLocations)?.endsAt ?? null),
    suppressedBy: policy.suppressedBy,
  };
}

function silenceView(stored: StoredSilence, now: number) {
  return {
    id: stored.id,
    checkId: stored.checkId,
    tags: stored.tags === null ? null : [...stored.tags],
    location: stored.location,
    comment: stored.comment,
    isActive: stored.endsAt > now,
    createdBy: stored.createdBy,
    created_at: iso(stored.created),
    endsAt: iso(stored.endsAt),
  };
}
