import { AppError } from '../../lib/errors.ts';
import { type CheckStatus, checkStatusRoutes } from '../../protocol/checks/check-status.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../http/handler.ts';
import type { StatusRow } from './tables.ts';

/** The routes of check statuses. */
export function checkStatusHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  return handlersById(checkStatusRoutes, {
    async listCheckStatuses({ caller }) {
      const rows = await deps.store.statuses.list(caller.accountId);
      const now = deps.clock.wallMs();
      return rows.map((row) => statusView(row, row.name, now));
    },
    async getCheckStatus({ caller, params }) {
      const check = await deps.store.checks.find(caller.accountId, params.checkId);
      if (!check) throw new AppError('NOT_FOUND', `There is no check ${params.checkId}.`);
      const row = await deps.store.statuses.find(caller.accountId, params.checkId);
      return row ? statusView(row, check.name, deps.clock.wallMs()) : null;
    },
  });
}

const dayMs = 86_400_000;

function statusView(row: StatusRow, name: string, now: number): CheckStatus {
  return {
    name,
    checkId: row.check_id,
    hasFailures: row.has_failures === 1,
    hasErrors: row.has_errors === 1,
    isDegraded: row.is_degraded === 1,
    longestRun: row.longest_run,
    shortestRun: row.shortest_run,
    lastRunLocation: row.last_run_location,
    lastCheckRunId: String(row.last_check_run_id),
    sslDaysRemaining:
      row.certificate_expires === null ? null : Math.floor((row.certificate_expires - now) / dayMs),
    created_at: new Date(row.created).toISOString(),
    updated_at: row.updated === null ? null : new Date(row.updated).toISOString(),
  };
}
