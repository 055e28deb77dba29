import { type AnyHandler, handlersById, iso, optionalIso } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { type SloStatus, sloRoutes } from '@picket/protocol/results/slo.ts';
import { storedFacts } from '../alerts/raise.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import { burnRate, errorBudget, sloState } from './budget.ts';
import { checksOfSlo, measuredWithin } from './measured.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A fast burn shows within an hour, a slow one within three days. */
const burnHours = [1, 6, 24, 72] as const;

/** Routes for the status of service level objectives; the others are those of every resource. */
export function sloHandlers({
  store,
  clock,
  analytics,
  publicUrl,
}: Pick<AnalyticsDeps, 'store' | 'clock' | 'analytics' | 'publicUrl'>): [string, AnyHandler][] {
  return handlersById(sloRoutes, {
    async listSloBurns({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.sloBurns.list(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      const alerts = await store.alerts.findMany(rows.map((row) => row.alert_id));
      return rows.flatMap((row) => {
        const alert = alerts.get(row.alert_id);
        if (!alert) return [];
        const { checkName, error } = storedFacts(alert);
        return [
          {
            sloId: row.slo_id,
            name: checkName,
            since: iso(row.since),
            window: row.burn_window,
            explanation: error ?? '',
            checkAlertId: alert.id,
          },
        ];
      });
    },
    async getSloStatus({ caller, params }): Promise<SloStatus> {
      const { definition } = found(await store.slos.find(caller.accountId, params.id), `slo ${params.id}`);
      const { target, windowDays } = definition;
      const checks = await checksOfSlo(store, caller.accountId, definition);
      // Includes results stored in this very millisecond.
      const to = clock.wallMs() + 1;
      const window = { from: to - windowDays * dayMs, to };
      const all = await measuredWithin(analytics, checks, window);
      const budget = errorBudget(target, all);
      const burnRates: SloStatus['burnRates'] = [];
      for (const hours of burnHours) {
        if (hours * hourMs > windowDays * dayMs) continue;
        const last = await measuredWithin(analytics, checks, { from: to - hours * hourMs, to });
        const { percent } = last.coverage;
        burnRates.push({ hours, rate: burnRate(target, last), coveragePercent: percent });
      }
      const burn = await store.sloBurns.find(caller.accountId, params.id);
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
        burningSince: optionalIso(burn?.since ?? null),
      };
    },
  });
}
