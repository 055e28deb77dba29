import { type SloDefinition, type SloStatus, sloRoutes } from '../../protocol/results/slo.ts';
import { addedCoverage } from '../../protocol/runs/coverage.ts';
import { windowCoverage } from '../coverage/coverage-query.ts';
import { type AnyHandler, handlersById, iso } from '../http/handler.ts';
import { found } from '../http/known-names.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import type { ReportedCheck } from '../results/report-store.ts';
import { burnRate, errorBudget, type MeasuredRuns, sloState } from './budget.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A fast burn shows in an hour, a slow one in three days. */
const burnHours = [1, 6, 24, 72] as const;

/** The route of how service level objectives stand; the others are those of every resource. */
export function sloHandlers({
  store,
  clock,
  analytics,
}: Pick<AnalyticsDeps, 'store' | 'clock' | 'analytics'>): [string, AnyHandler][] {
  const checksOf = async (accountId: string, { checkId, groupId, tags }: SloDefinition) => {
    if (groupId !== null) return store.reports.checksOfGroup(accountId, groupId);
    if (checkId === null) return store.reports.checks({ accountId, tags, needsAllTags: false });
    const check = await store.reports.check(checkId);
    return check?.accountId === accountId ? [check] : [];
  };
  const measured = async (
    checks: readonly ReportedCheck[],
    window: { readonly from: number; readonly to: number },
  ): Promise<MeasuredRuns> => {
    const runs = [...(await analytics.report(checks, window)).values()];
    const ids = checks.map(({ id }) => id);
    const coverage = await windowCoverage(analytics, ids, window);
    return {
      runCount: runs.reduce((sum, { runCount }) => sum + runCount, 0),
      passedCount: runs.reduce((sum, { passedCount }) => sum + passedCount, 0),
      coverage: addedCoverage(ids.map(coverage)),
    };
  };
  return handlersById(sloRoutes, {
    async getSloStatus({ caller, params }): Promise<SloStatus> {
      const { definition } = found(await store.slos.find(caller.accountId, params.id), `slo ${params.id}`);
      const { target, windowDays } = definition;
      const checks = await checksOf(caller.accountId, definition);
      // What was stored in this very millisecond belongs to it.
      const to = clock.wallMs() + 1;
      const window = { from: to - windowDays * dayMs, to };
      const all = await measured(checks, window);
      const budget = errorBudget(target, all);
      const burnRates: SloStatus['burnRates'] = [];
      for (const hours of burnHours) {
        if (hours * hourMs > windowDays * dayMs) continue;
        const last = await measured(checks, { from: to - hours * hourMs, to });
        const { percent } = last.coverage;
        burnRates.push({ hours, rate: burnRate(target, last), coveragePercent: percent });
      }
      return {
        sloId: params.id,
        name: definition.name,
        target,
        from: iso(window.from),
        to: iso(window.to),
        checkIds: checks.map(({ id }) => id),
        state: sloState(budget),
        availability: all.runCount === 0 ? null : (100 * all.passedCount) / all.runCount,
        coverage: all.coverage,
        errorBudget: budget,
        burnRates,
      };
    },
  });
}
