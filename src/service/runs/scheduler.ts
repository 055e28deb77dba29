import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { queuedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type EffectiveCheck, tagsOf, withGroups } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { failingAmong } from '../checks/timing/next-runs.ts';
import { firstPlan } from '../checks/timing/planned-slots.ts';
import { notPlanned, type PlannedSlots } from '../checks/timing/slot-state.ts';
import { intervalOf } from '../checks/timing/timing.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { type DueRuns, idInOrder, RunNumbers, runsAhead, runsDue } from './due-runs.ts';
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

/** Checks whose slots a turn takes. */
interface TurnSlots {
  readonly due: readonly Check[];
  /** Those whose next slots are not due yet. */
  readonly early: readonly Check[];
  readonly now: number;
  /** A part of the schedule that only this process holds. */
  readonly part: number | undefined;
}

const checksPerTurn = 500;
/** Number of checks that a turn looks at while few are due; it doubles as long as they are not enough. */
const fewestPerTurn = 60;
const compareEveryMs = 30_000;
/** A clock this far behind its expected time was set back. */
const setBackMs = 500;
/** Turns cost the same with few checks and with many: those that become due within this time of a turn share the next. */
const betweenTurnsMs = 100;
/** Slots of plain grids become runs up to this long before they are due: agents start them exactly then. */
export const longestAheadMs = 1_500;
/** The next slots are taken this long before the first of them is due, so that an agent has it in time. */
const leadMs = 500;
/** How soon a process without a part of the schedule retries. It is woken when it gets one. */
const withoutPartMs = 2_000;

/**
 * Turns slots into runs. The next slot of each check is stored in its row; a turn takes the due rows, inserts their
 * runs and advances them in one transaction, so that a crash or a second scheduler neither loses nor duplicates a slot.
 * Slots of plain grids are taken ahead of their time, about once a second (ADR 52); others, and paused ones, when they
 * are due.
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
  readonly #numbers: RunNumbers;
  #perTurn = fewestPerTurn;
  /** Slots of plain grids up to this time have been taken; those that were left become runs when they are due. */
  #takenUntilMs = Number.NEGATIVE_INFINITY;
  #comparedAtMs: number | undefined;
  /** Difference between wall clock and monotonic clock at the last turn. */
  #aheadMs = Number.NEGATIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#recordAgentless = options.recordAgentless;
    // On PostgreSQL a process of an older version, next to this one, would expect other ids of their results.
    this.#numbers = new RunNumbers(options.store.engine === 'sqlite' ? idInOrder : undefined);
  }

  async turn(): Promise<number | null> {
    const now = this.#clock.wallMs();
    await this.#repairFutureSlots(now);
    const window = this.#nextWindow(now);
    const turn = await this.#store.scheduleTransaction(async (repositories, parts) => {
      const { checks } = repositories;
      const due = await checks.due(parts, now, this.#perTurn);
      const isBehind = due.length >= this.#perTurn;
      const early = isBehind || !window ? [] : await checks.dueWithin(parts, window, this.#perTurn);
      const taken = await this.#runsOf(repositories, { due, early, now, part: parts[0] });
      await checks.setPlannedSlots(taken.map(({ id, planned }) => [id, planned]));
      const inserted = await repositories.runs.insert(taken.flatMap(({ rows }) => rows));
      const away = inserted.filter(({ reason }) => reason === 'service-away');
      const hasAlerts = await this.#recordAgentless(repositories, away, now);
      const isMore = isBehind || early.length >= this.#perTurn;
      const next = isMore ? now : await checks.nextSlotAt(parts);
      return { inserted, hasAlerts, next, isMore, isBehind, early, count: due.length + early.length };
    });
    if (!turn) return this.#clock.wallMs() + withoutPartMs;
    const { inserted, hasAlerts, next, isMore, count } = turn;
    if (window && !turn.isBehind) {
      // Further checks may have the slot of the last one.
      const lastAt = turn.early.at(-1)?.slots.nextSlotAt ?? window.until;
      this.#takenUntilMs = isMore ? Math.max(window.after + 1, lastAt - 1) : window.until;
    }
    if (count * 2 > this.#perTurn) this.#perTurn = Math.min(checksPerTurn, this.#perTurn * 2);
    else if (count * 8 < this.#perTurn) this.#perTurn = Math.max(fewestPerTurn, Math.ceil(this.#perTurn / 2));
    for (const [reason, runs] of Map.groupBy(inserted, (run) => run.reason)) {
      if (reason !== null) this.#metrics.countMissed(runs, reason);
    }
    this.#store.signals.send(queuedSignals(inserted));
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    if (next === null || isMore) return next;
    const at = next > this.#takenUntilMs ? next - leadMs : Math.min(next, this.#takenUntilMs - leadMs);
    return count === 0 ? at : Math.max(at, now + betweenTurnsMs);
  }

  /** The time whose slots this turn may take ahead; undefined while enough are taken. */
  #nextWindow(now: number): { readonly after: number; readonly until: number } | undefined {
    const until = now + longestAheadMs;
    // The clock may have been set back.
    this.#takenUntilMs = Math.min(this.#takenUntilMs, until);
    return now < this.#takenUntilMs - leadMs
      ? undefined
      : { after: Math.max(now, this.#takenUntilMs), until };
  }

  async #runsOf(
    repositories: Repositories,
    slots: TurnSlots,
  ): Promise<(DueRuns & { readonly id: string })[]> {
    const { now } = slots;
    if (slots.due.length + slots.early.length === 0) return [];
    const due = await withGroups(repositories, slots.due);
    const early = await withGroups(repositories, slots.early);
    const checks = [...due, ...early];
    const accountIds = checks.map((check) => check.accountId);
    const locationIds = await repositories.locations.idsBySlug(accountIds);
    const slotTimes = checks.map((check) => check.slots.nextSlotAt ?? now);
    const maintenance = await Maintenance.load(repositories, accountIds, {
      from: Math.min(now, ...slotTimes),
      to: Math.max(now, ...slotTimes),
    });
    const numbers = this.#numbers.of(now, slots.part);
    const failing = await failingAmong(repositories, due);
    const pausesOf = (check: EffectiveCheck) => {
      const tags = tagsOf(check);
      return (slotAt: number) => maintenance.pauses(check.accountId, tags, slotAt);
    };
    return [
      ...due.map((check) => {
        const state = { now, isPaused: pausesOf(check), isFailing: failing.has(check.id) };
        return { id: check.id, ...runsDue(check, locationIds, numbers, state) };
      }),
      ...early.flatMap((check) => {
        const ahead = runsAhead(check, locationIds, numbers, { now, isPaused: pausesOf(check) });
        return ahead ? [{ id: check.id, ...ahead }] : [];
      }),
    ];
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
          await repositories.checks.ahead(parts, now + longestAheadMs, checksPerTurn),
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
