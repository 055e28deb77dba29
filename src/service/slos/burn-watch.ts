import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { type AlertPolicy, alertPolicies } from '../alerts/policy.ts';
import { alertId, storeAlert, storedFacts } from '../alerts/raise.ts';
import type { AlertRow } from '../alerts/tables.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import type { ReportedCheck } from '../results/reports/store.ts';
import { errorBudget } from './budget.ts';
import { type BurnWindow, burningWindow, burnText, isCalm, type LastRuns } from './burn.ts';
import { checksOfSlo, measuredWithin, runsWithin } from './measured.ts';
import type { StoredSlo } from './store.ts';
import type { SloBurnRow } from './tables.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const slosPerPage = 100;
/** An objective is examined once a minute, or less often, so that this takes at most a twentieth of the time. */
const lookEveryMs = minuteMs;
const shareOfTime = 20;
/** Number of check names in a notification; further checks are only counted. */
const namesShown = 20;

/**
 * Examines every objective with an enabled burn alert: notifies its channels once when its budget is spent too fast,
 * and once when that is over. While all of its checks are muted, silenced or in a silencing maintenance window, no burn
 * begins; one that still lasts when that ends is notified then.
 */
export class BurnWatch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #analytics: AnalyticsDeps['analytics'];
  readonly #nextLookMs = new Map<number, number>();

  constructor(deps: { store: Store; clock: Clock; analytics: AnalyticsDeps['analytics'] }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#analytics = deps.analytics;
  }

  async turn(): Promise<number | null> {
    const burns = new Map((await this.#store.sloBurns.all()).map((burn) => [burn.slo_id, burn]));
    const watched = new Set<number>();
    for await (const slo of this.#slos()) {
      if (!slo.definition.burnAlert.enabled) continue;
      watched.add(slo.id);
      const beganMs = this.#clock.monotonicMs();
      if (beganMs < (this.#nextLookMs.get(slo.id) ?? Number.NEGATIVE_INFINITY)) continue;
      // The cost is measured in real time, even if the clock is set.
      const costFromMs = performance.now();
      await askedBy({ key: slo.accountId }, () => this.#look(slo, burns.get(slo.id)));
      const tookMs = performance.now() - costFromMs;
      this.#nextLookMs.set(slo.id, beganMs + Math.max(lookEveryMs, tookMs * shareOfTime));
    }
    for (const id of this.#nextLookMs.keys()) if (!watched.has(id)) this.#nextLookMs.delete(id);
    // Ends burns of objectives that were deleted or are no longer watched: otherwise receivers would keep them open.
    for (const burn of burns.values()) if (!watched.has(burn.slo_id)) await this.#end(burn);
    const next = leastOf(this.#nextLookMs.values());
    return Number.isFinite(next) ? this.#clock.wallMs() + next - this.#clock.monotonicMs() : null;
  }

  async *#slos(): AsyncGenerator<StoredSlo> {
    let after = 0;
    for (;;) {
      const page = await this.#store.slos.behind(after, slosPerPage);
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < slosPerPage) return;
      after = last.id;
    }
  }

  async #look(slo: StoredSlo, burn: SloBurnRow | undefined): Promise<void> {
    const checks = await checksOfSlo(this.#store, slo.accountId, slo.definition);
    const to = this.#clock.wallMs() + 1;
    const last = await this.#lastRuns(checks, to);
    if (burn) {
      if (isCalm(slo.definition, last)) await this.#end(burn);
      return;
    }
    const window = burningWindow(slo.definition, last);
    if (window) await this.#begin(slo, { checks, to, last, window });
  }

  async #lastRuns(checks: readonly ReportedCheck[], to: number): Promise<LastRuns> {
    const within = (minutes: number) =>
      runsWithin(this.#analytics, checks, { from: to - minutes * minuteMs, to });
    return { 5: await within(5), 30: await within(30), 60: await within(60), 360: await within(360) };
  }

  async #begin(
    slo: StoredSlo,
    { checks, to, last, window }: { checks: ReportedCheck[]; to: number; last: LastRuns; window: BurnWindow },
  ): Promise<void> {
    const { target, windowDays } = slo.definition;
    const all = await measuredWithin(this.#analytics, checks, { from: to - windowDays * dayMs, to });
    const failing = await this.#failing(checks, { from: to - window.longMinutes * minuteMs, to });
    const error = burnText(slo.definition, window, last, errorBudget(target, all).leftPercent);
    const now = this.#clock.wallMs();
    const alert = alertOf(slo, { failing, error, now });
    const ids = checks.map(({ id }) => id);
    const isBegun = await this.#store.transaction(async (repositories) => {
      const policies = [...(await alertPolicies(repositories, ids, now)).values()];
      const isHeard = policies.some((policy) => policy.withheldAt([]) === null);
      if (!isHeard) return false;
      const row = {
        slo_id: slo.id,
        account_id: slo.accountId,
        alert_id: alert.id,
        burn_window: window.name,
        since: now,
      };
      if (!(await repositories.sloBurns.begin(row))) return false;
      await storeAlert(repositories, alert, await channelsOf(repositories, slo, policies, alert));
      return true;
    });
    if (isBegun) this.#store.signals.send([{ kind: 'alerts' }]);
  }

  /** Names of the checks that failed most, and the number of checks that failed at all. */
  async #failing(checks: readonly ReportedCheck[], window: { from: number; to: number }) {
    const reports = await this.#analytics.report(checks, window);
    const failed = checks
      .map(({ id, name }) => ({ name, runs: reports.get(id) }))
      .map(({ name, runs }) => ({ name, count: runs ? runs.runCount - runs.passedCount : 0 }))
      .filter(({ count }) => count > 0)
      .sort((one, other) => other.count - one.count);
    return { count: failed.length, names: failed.slice(0, namesShown).map(({ name }) => name) };
  }

  async #end(burn: SloBurnRow): Promise<void> {
    const now = this.#clock.wallMs();
    const isOver = await this.#store.transaction(async (repositories) => {
      if (!(await repositories.sloBurns.end(burn))) return false;
      const begin = (await repositories.alerts.findMany([burn.alert_id])).get(burn.alert_id);
      if (!begin) return false;
      const facts: AlertFacts = { ...storedFacts(begin), error: null, recoversFrom: 'failure' };
      const channels = await repositories.alertChannels.notifiedOfAlert(begin.id);
      const alert: AlertRow = {
        ...begin,
        id: alertId(begin.id, 'over'),
        alert_type: 'ALERT_SLO_BURN_OVER',
        notice: 'recovery',
        facts: JSON.stringify(facts),
        created: now,
      };
      const wanting = channels.filter((channel) =>
        wantsNotice(channel.definition as StoredChannel, 'recovery', facts),
      );
      return storeAlert(repositories, alert, wanting);
    });
    if (isOver) this.#store.signals.send([{ kind: 'alerts' }]);
  }
}

/** The objective's own channels that still exist; else those of its checks whose alerts are not held back. */
async function channelsOf(
  { alertChannels }: Pick<Repositories, 'alertChannels'>,
  { accountId, definition }: StoredSlo,
  policies: readonly AlertPolicy[],
  alert: AlertRow,
) {
  const { alertChannelIds } = definition;
  const all = alertChannelIds.length === 0 ? [] : await alertChannels.all(accountId);
  const own = all.filter(({ id }) => alertChannelIds.includes(id));
  const heard = policies.filter(({ suppressedBy }) => suppressedBy === null);
  const subscribers = heard.map(({ check, groupId }) => ({ checkId: check.id, groupId }));
  const channels = own.length > 0 ? own : await alertChannels.notifiedOfChecks(subscribers);
  return channels.filter((channel) =>
    wantsNotice(channel.definition as StoredChannel, 'failure', storedFacts(alert)),
  );
}

function alertOf(
  { id, accountId, definition }: StoredSlo,
  { failing, error, now }: { failing: NonNullable<AlertFacts['members']>; error: string; now: number },
): AlertRow {
  const facts: AlertFacts = {
    subject: 'slo',
    checkName: definition.name,
    checkType: 'SLO',
    checkDescription: definition.description,
    groupName: null,
    tags: definition.tags,
    runLocation: null,
    responseTimeMs: null,
    error,
    statusCode: null,
    statusText: null,
    startedAt: now,
    since: now,
    reminder: 0,
    recoversFrom: null,
    certificate: null,
    members: failing,
  };
  return {
    id: alertId(accountId, 'slo', String(id), String(now)),
    account_id: accountId,
    check_id: String(id),
    alert_type: 'ALERT_SLO_BURN',
    notice: 'failure',
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}
