import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { queuedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { tagsOf, withGroups } from '../checks/effective-check.ts';
import { failingAmong } from '../checks/timing/next-runs.ts';
import { firstPlan } from '../checks/timing/planned-slots.ts';
import { notPlanned, type PlannedSlots } from '../checks/timing/slot-state.ts';
import { intervalOf } from '../checks/timing/timing.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { RunNumbers, runsDue } from './due-runs.ts';
import type { RunRow } from './tables.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { countMissed(runs: readonly RunRow[], reason: string): void };
  /**
   * Called with slots that passed while the service was away, in the transaction that records them; returns whether
   * there are notifications to send.
   */
  readonly recordAgentless: (
    repositories: Repositories,
    runs: readonly RunRow[],
    now: number,
  ) => Promise<boolean>;
}

const checksPerTurn = 500;
/** Number of checks that a turn looks at while few are due; it doubles as long as they are not enough. */
const fewestPerTurn = 60;
const compareEveryMs = 30_000;
/** A clock this far behind its expected time was set back. */
const setBackMs = 500;
/** Turns cost the same with few checks and with many: those that become due within this time of a turn share the next. */
const betweenTurnsMs = 100;
/** How soon a process without a part of the schedule retries. It is woken when it gets one. */
const withoutPartMs = 2_000;

/**
 * Turns due slots into runs. The next slot of each check is stored in its row; a turn takes the due rows, inserts their
 * runs and advances them in one transaction, so that a crash or a second scheduler neither loses nor duplicates a slot.
 * Several processes divide the checks by a hash; a turn writes to a part only while this process holds it. After a gap
 * (the service was away) only the newest slot is run, and only while it is fresh; the older ones become one terminal
 * record per gap, with the number of slots it covers.
 */
export class Scheduler {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: SchedulerOptions['metrics'];
  readonly #recordAgentless: SchedulerOptions['recordAgentless'];
  readonly #numbers = new RunNumbers();
  #perTurn = fewestPerTurn;
  #comparedAtMs: number | undefined;
  /** Difference between wall clock and monotonic clock at the last turn. */
  #aheadMs = Number.NEGATIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#recordAgentless = options.recordAgentless;
  }

  async turn(): Promise<number | null> {
    const now = this.#clock.wallMs();
    await this.#repairFutureSlots(now);
    const turn = await this.#store.scheduleTransaction(async (repositories, parts) => {
      const due = await repositories.checks.due(parts, now, this.#perTurn);
      const checks = await withGroups(repositories, due);
      const locationIds = await repositories.locations.idsBySlug(checks.map((check) => check.accountId));
      const maintenance = await Maintenance.load(
        repositories,
        checks.map((check) => check.accountId),
        { from: Math.min(now, ...checks.map(({ slots }) => slots.nextSlotAt ?? now)), to: now },
      );
      const numbers = { next: (at: number) => this.#numbers.next(at, parts[0]) };
      const failing = await failingAmong(repositories, checks);
      const rows: RunRow[] = [];
      const planned: [checkId: string, slots: PlannedSlots][] = [];
      for (const check of checks) {
        const { accountId, id } = check;
        const isPaused = (slotAt: number) => maintenance.pauses(accountId, tagsOf(check), slotAt);
        const due = runsDue(check, locationIds, numbers, { now, isPaused, isFailing: failing.has(id) });
        rows.push(...due.rows);
        planned.push([id, due.planned]);
      }
      await repositories.checks.setPlannedSlots(planned);
      const inserted = await repositories.runs.insert(rows);
      const away = inserted.filter(({ reason }) => reason === 'service-away');
      const hasAlerts = await this.#recordAgentless(repositories, away, now);
      const isMore = checks.length >= this.#perTurn;
      const next = isMore ? now : await repositories.checks.nextSlotAt(parts);
      return { inserted, hasAlerts, next, isMore, count: checks.length };
    });
    if (!turn) return this.#clock.wallMs() + withoutPartMs;
    const { inserted, hasAlerts, next, isMore, count } = turn;
    if (count * 2 > this.#perTurn) this.#perTurn = Math.min(checksPerTurn, this.#perTurn * 2);
    else if (count * 8 < this.#perTurn) this.#perTurn = Math.max(fewestPerTurn, Math.ceil(this.#perTurn / 2));
    for (const [reason, runs] of Map.groupBy(inserted, (run) => run.reason)) {
      if (reason !== null) this.#metrics.countMissed(runs, reason);
    }
    this.#store.signals.send(queuedSignals(inserted));
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    return next === null || isMore || count === 0 ? next : Math.max(next, now + betweenTurnsMs);
  }

  /**
   * Repairs rows after a clock that was ahead has been corrected: their next slots are more than one interval away, so
   * their checks would not run until then. On the first turn, after the clock was set back, and periodically, such rows
   * get the next slot after now, and slots that were recorded as missed too early become due after all.
   */
  async #repairFutureSlots(now: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const aheadMs = now - nowMs;
    const wasSetBack = aheadMs < this.#aheadMs - setBackMs;
    this.#aheadMs = aheadMs;
    const isRecent = this.#comparedAtMs !== undefined && nowMs - this.#comparedAtMs < compareEveryMs;
    if (isRecent && !wasSetBack) return;
    let count = 0;
    let found: number | undefined;
    do {
      found = await this.#store.scheduleTransaction(async (repositories, parts) => {
        const checks = await withGroups(
          repositories,
          await repositories.checks.ahead(parts, now, checksPerTurn),
        );
        const moved: [checkId: string, slots: PlannedSlots][] = [];
        for (const check of checks) {
          await repositories.runs.cutFutureMissed(check.id, intervalOf(check, now), now);
          const slots = firstPlan(check, now, { ...notPlanned, slotNumber: check.slots.slotNumber });
          if (slots.nextSlotAt !== check.slots.nextSlotAt || slots.plannedAt !== null)
            moved.push([check.id, slots]);
        }
        await repositories.checks.setPlannedSlots(moved);
        return moved.length;
      });
      count += found ?? 0;
    } while (found === checksPerTurn);
    this.#comparedAtMs = nowMs;
    if (count > 0) {
      this.#logger.warn(
        { checks: count },
        'service clock was ahead; rescheduled checks whose next slot was too far in the future',
      );
    }
  }
}
