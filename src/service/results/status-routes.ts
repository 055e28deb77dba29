import { AppError } from '@picket/lib/errors.ts';
import { daysLeft } from '@picket/lib/figures/days-left.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { type CheckStatus, checkStatusRoutes } from '@picket/protocol/checks/check-status.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import type { StandingCheck } from '../checks/state/states.ts';
import type { Check } from '../checks/store.ts';
import { warningsOf } from '../checks/warnings/warnings.ts';
import { type CoverageSource, windowCoverage } from '../coverage/coverage-query.ts';
import { namedWindow } from './reports/window.ts';
import type { StatusRow } from './tables.ts';

/** Routes of check statuses. */
export function checkStatusHandlers(
  deps: HandlerDeps & { readonly analytics: CoverageSource },
): [string, AnyHandler][] {
  const lastDay = (ids: readonly string[]) =>
    windowCoverage(deps.analytics, ids, namedWindow('last24Hrs', deps.clock.wallMs()));
  return handlersById(checkStatusRoutes, {
    async listCheckStatuses({ caller, query }) {
      const { accountId } = caller;
      const now = deps.clock.wallMs();
      const rows = await deps.store.statuses.list(accountId);
      const { warnings, unrun: all } = await allWarnings(
        deps,
        accountId,
        new Set(rows.map((row) => row.check_id)),
      );
      const unrun = query.neverRun ? all : [];
      const states = await deps.store.states.of(accountId, undefined, now);
      const ids = [...rows.map((row) => row.check_id), ...unrun.map(({ id }) => id)];
      const coverage = await lastDay(ids);
      return [
        ...rows.map((row) => ({
          ...statusView(row, row.name, warnings.get(row.check_id), now),
          ...standing(states.get(row.check_id)),
          coverage: coverage(row.check_id),
        })),
        ...unrun.map((check) => ({
          ...unrunView(check, warnings.get(check.id) ?? []),
          ...standing(states.get(check.id)),
          coverage: coverage(check.id),
        })),
      ];
    },
    async getCheckStatus({ caller, params }) {
      const check = await deps.store.checks.find(caller.accountId, params.checkId);
      if (!check) throw new AppError('NOT_FOUND', `There is no check ${params.checkId}.`);
      const row = await deps.store.statuses.find(caller.accountId, params.checkId);
      const now = deps.clock.wallMs();
      const warnings = (await warningsOf(deps.store, [check], now)).get(check.id);
      const coverage = (await lastDay([check.id]))(check.id);
      const state = standing((await deps.store.states.of(caller.accountId, [check.id], now)).get(check.id));
      if (row) return { ...statusView(row, check.name, warnings, now), ...state, coverage };
      return warnings ? { ...unrunView(check, warnings), ...state, coverage } : null;
    },
  });
}

const checksAtOnce = 500;

/** Warnings of all checks of an account, and the checks that have not run yet. */
async function allWarnings(
  { store, clock }: HandlerDeps,
  accountId: string,
  withStatus: ReadonlySet<string>,
): Promise<{ warnings: ReadonlyMap<string, Warning[]>; unrun: ShownCheck[] }> {
  const warnings = new Map<string, Warning[]>();
  const unrun: ShownCheck[] = [];
  for (let offset = 0; ; offset += checksAtOnce) {
    const { checks } = await store.checks.list(accountId, {}, { limit: checksAtOnce, offset });
    const found = await warningsOf(store, checks, clock.wallMs());
    for (const [id, some] of found) warnings.set(id, some);
    for (const { id, name, created } of checks) {
      if (!withStatus.has(id)) unrun.push({ id, name, created });
    }
    if (checks.length < checksAtOnce) return { warnings, unrun };
  }
}

/** The part of a status that results determine, and the reasons for missing results. */
type RunFacts = Omit<CheckStatus, 'coverage' | 'state' | 'notMeasuredAt'>;
type ShownCheck = Pick<Check, 'id' | 'name' | 'created'>;

/** Status of a check that has not run. */
function unrunView({ id, name, created }: ShownCheck, warnings: readonly Warning[]): RunFacts {
  return {
    name,
    checkId: id,
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    longestRun: null,
    shortestRun: null,
    lastRunLocation: null,
    lastCheckRunId: null,
    sslDaysRemaining: null,
    warnings: [...warnings],
    created_at: new Date(created).toISOString(),
    updated_at: null,
  };
}

/** A check that has just been deleted is no longer measured. */
function standing(known: StandingCheck | undefined): Pick<CheckStatus, 'state' | 'notMeasuredAt'> {
  return { state: known?.state ?? 'not-measured', notMeasuredAt: [...(known?.notMeasuredAt ?? [])] };
}

function statusView(
  row: StatusRow,
  name: string,
  warnings: readonly Warning[] | undefined,
  now: number,
): RunFacts {
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
    sslDaysRemaining: row.certificate_expires === null ? null : daysLeft(row.certificate_expires, now),
    warnings: [...(warnings ?? [])],
    created_at: new Date(row.created).toISOString(),
    updated_at: row.updated === null ? null : new Date(row.updated).toISOString(),
  };
}
