import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { tagsOf, withGroups } from '../checks/effective-check.ts';
import { gridOf, nextSlotAfter } from '../checks/slots.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import type { ServiceMetrics } from '../metrics.ts';
import { queuedSignals } from '../store/engine/signals.ts';
import type { Repositories, Store } from '../store.ts';
import { RunNumbers, runsDue } from './due-runs.ts';
import type { RunRow } from './tables.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServiceMetrics;
  /**
   * Hears of slots that passed while the service was away, in the transaction that records them; returns whether
   * there are notifications to send.
   */
  readonly noteAway: (repositories: Repositories, runs: readonly RunRow[], now: number) => Promise<boolean>;
}

const checksPerTurn = 500;
const compareEveryMs = 30_000;
/** How long to wait after leadership was lost during a turn. */
const lostLeadershipMs = 2_000;

/**
 * Turns due slots into runs. The next slot of each check stands in its row; a turn takes the due rows,
 * inserts their runs and moves them on in one transaction, so that a crash or a second scheduler neither
 * loses nor doubles a slot. Of several processes one is the leader; what a turn writes is written only while
 * that is so. After a gap (the service was away) only the newest slot is run, and only while it is fresh; the
 * older ones become one terminal record each gap, which says for how many slots it stands.
 */
export class Scheduler {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: ServiceMetrics;
  readonly #noteAway: SchedulerOptions['noteAway'];
  readonly #numbers = new RunNumbers();
  #comparedAtMs: number | undefined;

  constructor(options: SchedulerOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#noteAway = options.noteAway;
  }

  async turn(): Promise<number | null> {
    const now = this.#clock.wallMs();
    await this.#repairFutureSlots(now);
    const turn = await this.#store.leaderTransaction(async (repositories) => {
      const checks = await withGroups(repositories, await repositories.checks.due(now, checksPerTurn));
      const locationIds = await repositories.locations.idsBySlug(checks.map((check) => check.accountId));
      const maintenance = await Maintenance.load(
        repositories,
        checks.map((check) => check.accountId),
        { from: Math.min(now, ...checks.map((check) => check.nextSlotAt ?? now)), to: now },
      );
      const rows: RunRow[] = [];
      for (const check of checks) {
        const { accountId } = check;
        const isPaused = (slotAt: number) => maintenance.pauses(accountId, tagsOf(check), slotAt);
        rows.push(...runsDue(check, now, locationIds, this.#numbers, isPaused));
      }
      await repositories.checks.setNextSlots(
        checks.map((check) => [check.id, nextSlotAfter(gridOf(check), now)]),
      );
      const inserted = await repositories.runs.insert(rows);
      const away = inserted.filter(({ reason }) => reason === 'service-away');
      const hasAlerts = await this.#noteAway(repositories, away, now);
      return { inserted, hasAlerts, isMore: checks.length === checksPerTurn };
    });
    if (!turn) return this.#clock.wallMs() + lostLeadershipMs;
    const { inserted, hasAlerts, isMore } = turn;
    for (const [reason, runs] of Map.groupBy(inserted, (run) => run.reason)) {
      if (reason !== null) this.#metrics.countMissed(runs, reason);
    }
    this.#store.signals.send(queuedSignals(inserted));
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    return isMore ? now : this.#store.checks.nextSlotAt();
  }

  /**
   * A clock that was ahead and was set right leaves next slots that lie further off than one interval: their
   * checks would stand still until then. At the first turn, and now and then, such rows are given the next
   * slot after now, and slots that were recorded as missed before their time come due after all.
   */
  async #repairFutureSlots(now: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#comparedAtMs !== undefined && nowMs - this.#comparedAtMs < compareEveryMs) return;
    let count = 0;
    let found: number | undefined;
    do {
      found = await this.#store.leaderTransaction(async (repositories) => {
        const checks = await repositories.checks.ahead(now, checksPerTurn);
        const moved: [checkId: string, nextSlotAt: number][] = [];
        for (const check of checks) {
          const grid = gridOf(check);
          await repositories.runs.cutFutureMissed(check.id, grid.intervalMs, now);
          const nextSlotAt = nextSlotAfter(grid, now);
          if (nextSlotAt !== check.nextSlotAt) moved.push([check.id, nextSlotAt]);
        }
        await repositories.checks.setNextSlots(moved);
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
