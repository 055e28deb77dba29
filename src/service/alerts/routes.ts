import type { ChannelType } from '@picket/channels/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { describePage, type PageQuery, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { alertRoutes } from '@picket/protocol/alerts/alert.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { causeOfAlert } from './causes/routes.ts';
import type { ListedNotification } from './delivery/store.ts';
import { isOfCheck } from './facts.ts';
import { asSettings } from './policy.ts';
import { storedFacts } from './raise.ts';
import type { AlertRow } from './tables.ts';

const configOf = storedValue<Record<string, unknown>>('alert_notifications.config', {});

const hourMs = 3_600_000;

interface WindowQuery extends PageQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Routes of alerts, their notifications, and the alert settings of the account. */
export function alertHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  const pageOf = (query: PageQuery) => ({ limit: query.limit, offset: pageOffset(query) });
  return handlersById(alertRoutes, {
    async listCheckAlerts({ caller, query, request, reply }) {
      const window = windowOf(query, 6 * hourMs, clock.wallMs());
      const { alerts, total } = await store.alerts.list(
        { accountId: caller.accountId, ...window, hasSuppressed: query.includeSuppressed },
        pageOf(query),
      );
      describePage(request, reply, { query, total, publicUrl });
      return withCauses(store, alerts);
    },
    async listAlertsOfCheck({ caller, params, query, request, reply }) {
      const check = await store.checks.find(caller.accountId, params.checkId);
      if (!check) throw new AppError('NOT_FOUND', `There is no check ${params.checkId}.`);
      const window = windowOf(query, 6 * hourMs, clock.wallMs());
      const hasSuppressed = query.includeSuppressed;
      const filter = { accountId: caller.accountId, checkId: check.id, ...window, hasSuppressed };
      const { alerts, total } = await store.alerts.list(filter, pageOf(query));
      describePage(request, reply, { query, total, publicUrl });
      return withCauses(store, alerts);
    },
    async listAlertNotifications({ caller, query, request, reply }) {
      const { notifications, total } = await store.notifications.list(
        {
          accountId: caller.accountId,
          channelId: query.alertChannelId,
          hasFailures: query.hasFailures,
          ...windowOf(query, 24 * hourMs, clock.wallMs()),
        },
        pageOf(query),
      );
      describePage(request, reply, { query, total, publicUrl });
      return notifications.map(notificationView);
    },
    async getAccountAlertSettings({ caller }) {
      const stored = await store.accounts.alertSettings([caller.accountId]);
      return asSettings(stored.get(caller.accountId));
    },
    async updateAccountAlertSettings({ caller, body }) {
      await store.accounts.setAlertSettings(caller.accountId, body);
      return body;
    },
  });
}

/** The window that a query names: `from` inclusive, `to` exclusive, with a maximum length. */
function windowOf(query: WindowQuery, lengthMs: number, now: number): { from: number; to: number } {
  const given = (text: string | undefined) => (text === undefined ? null : parseTimestamp(text));
  const [from, to] = [given(query.from), given(query.to)];
  // Without an end the window ends slightly after now, so that nothing is cut off.
  const end = to ?? (from === null ? now + 1 : from + lengthMs);
  const start = from ?? end - lengthMs - (to === null ? 1 : 0);
  if (end < start) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  if (from !== null && to !== null && to - from > lengthMs) {
    const message = `must be at most ${lengthMs / hourMs} hours after "from"`;
    throw fieldError('query', [{ key: 'to', message }]);
  }
  return { from: start, to: end };
}

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** Alerts as responses show them, with the causes of their checks. */
async function withCauses(store: Pick<Repositories, 'alertCauses'>, rows: readonly AlertRow[]) {
  const causes = await store.alertCauses.findMany(rows.flatMap((row) => row.cause_id ?? []));
  return rows.map((row) => {
    const cause = causes.get(row.cause_id ?? '');
    return { ...alertView(row), cause: cause ? causeOfAlert(cause) : null };
  });
}

function alertView(row: AlertRow) {
  const facts = storedFacts(row);
  return {
    id: row.id,
    name: facts.checkName,
    checkId: row.check_id,
    alertType: row.alert_type,
    checkType: facts.checkType,
    runLocation: facts.runLocation,
    responseTime: facts.responseTimeMs,
    error: facts.error,
    statusCode: facts.statusCode === null ? null : String(facts.statusCode),
    checkResultId: row.result_id,
    isReminder: facts.reminder > 0,
    suppressedBy: row.suppressed_by ?? null,
    silenceId: facts.silenceId ?? null,
    created_at: iso(row.created),
    startedAt: facts.startedAt === null ? null : iso(facts.startedAt),
  };
}

function notificationView(row: ListedNotification) {
  const facts = storedFacts(row);
  return {
    id: row.id,
    status: row.status,
    notificationResult: row.result,
    tries: row.tries,
    alertChannelId: row.channel_id,
    alertConfig: {
      type: row.channel_type as ChannelType,
      config: configOf(row.config),
    },
    checkAlertId: row.alert_id,
    checkResultId: row.result_id,
    checkId: row.check_id,
    checkName: facts.checkName,
    checkType: isOfCheck(facts) ? facts.checkType : null,
    alertType: row.alert_type,
    type: row.channel_type as ChannelType,
    created_at: iso(row.created),
    timestamp: iso(row.created),
    endedAt: row.ended === null ? null : iso(row.ended),
  };
}
