import { randomUUID } from 'node:crypto';
import { findCheckType } from '../checks/index.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Alarm } from './alarm.ts';
import {
  freshnessMs,
  locationsOf,
  locationsOfSlot,
  nextSlotAfter,
  type SlotGrid,
  slotGrid,
  slotIndex,
} from './slots.ts';
import type { Check } from './store/checks.ts';
import type { Signal } from './store/signals.ts';
import type { Store } from './store/store.ts';
import type { RunRow } from './store/tables.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

const checksPerTurn = 500;
const longestSleepMs = 30_000;
/** How often a process that does not schedule looks whether it should. */
const leaderPollMs = 2_000;

/** The grid of a stored check. */
export function gridOf(check: Pick<Check, 'id' | 'definition'>): SlotGrid {
  return slotGrid({
    id: check.id,
    frequency: check.definition.frequency as number,
    frequencyOffset: check.definition.frequencyOffset as number,
  });
}

/** When a check is due next after an instant; null when it is not scheduled at all. */
export function firstSlotOf(
  check: Pick<Check, 'id' | 'activated' | 'definition'>,
  now: number,
): number | null {
  if (!check.activated || locationsOf(check.definition).length === 0) return null;
  return nextSlotAfter(gridOf(check), now);
}

/**
 * Turns due slots into runs. The next slot of each check stands in its row; a turn takes the due rows, inserts their
 * runs and moves them on in one transaction, so that a crash or a second scheduler neither loses nor doubles a slot.
 * After a gap (the service was away) only the newest slot is run, and only while it is fresh; the older ones become one
 * terminal record each gap, which says for how many slots it stands.
 */
export class Scheduler {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #unsubscribe: () => void;
  #lastCheckRunId = 0;

  constructor(options: SchedulerOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#alarm = new Alarm({
      name: 'scheduler',
      clock: options.clock,
      logger: options.logger,
      work: () => this.#turn(),
      longestMs: longestSleepMs,
    });
    this.#unsubscribe = options.store.signals.subscribe((signal) => {
      if (signal.kind === 'schedule' || signal.kind === 'look') this.#alarm.wake();
    });
  }

  start(): void {
    this.#alarm.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#alarm.stop();
  }

  async #turn(): Promise<number | null> {
    if (!(await this.#store.isLeader())) return this.#clock.wallMs() + leaderPollMs;
    const now = this.#clock.wallMs();
    const { queued, isMore } = await this.#store.transaction(async (nouns) => {
      const checks = await nouns.checks.due(now, checksPerTurn);
      const locationIds = await nouns.locations.idsBySlug(checks.map((check) => check.accountId));
      const rows: RunRow[] = [];
      for (const check of checks) {
        rows.push(...this.#runsDue(check, now, locationIds));
        await nouns.checks.setNextSlot(check.id, nextSlotAfter(gridOf(check), now));
      }
      const inserted = await nouns.runs.insert(rows);
      return { queued: queuedSignals(inserted), isMore: checks.length === checksPerTurn };
    });
    this.#store.signals.send(queued);
    return isMore ? now : this.#store.checks.nextSlotAt();
  }

  #runsDue(check: Check, now: number, locationIds: ReadonlyMap<string, string>): RunRow[] {
    const grid = gridOf(check);
    const first = check.nextSlotAt;
    const locations = locationsOf(check.definition);
    if (first === null || locations.length === 0) return [];
    const runParallel = check.definition.runParallel === true;
    const newest = grid.phaseMs + slotIndex(grid, now) * grid.intervalMs;
    const freshMs = freshnessMs(grid);
    const isNewestFresh = newest >= first && now - newest < freshMs;
    const lastMissed = isNewestFresh ? newest - grid.intervalMs : newest;
    const row = (location: string, slotAt: number): RunRow => {
      const id = randomUUID();
      return {
        id,
        account_id: check.accountId,
        check_id: check.id,
        check_type: check.checkType,
        lane: findCheckType(check.checkType)?.lane ?? 'probe',
        location_id: locationIds.get(`${check.accountId}/${location}`) ?? null,
        location,
        slot_location: location,
        slot_at: slotAt,
        slot_count: 1,
        state: 'queued',
        reason: null,
        attempt: 0,
        freshness_ms: freshMs,
        ready_at: slotAt,
        expires_at: slotAt + freshMs,
        lease_number: 0,
        lease_until: null,
        agent_id: null,
        session_id: null,
        deaths: 0,
        first_leased_at: null,
        last_result_id: null,
        sequence_id: id,
        check_run_id: this.#nextCheckRunId(now),
        created: now,
        ended: null,
      };
    };
    const rows: RunRow[] = [];
    if (lastMissed >= first) {
      const slotCount = Math.round((lastMissed - first) / grid.intervalMs) + 1;
      for (const location of locationsOfSlot(grid, first, locations, runParallel)) {
        rows.push({
          ...row(location, first),
          slot_count: slotCount,
          state: 'missed',
          reason: 'service-away',
          ended: now,
        });
      }
    }
    if (isNewestFresh) {
      for (const location of locationsOfSlot(grid, newest, locations, runParallel)) {
        rows.push(row(location, newest));
      }
    }
    return rows;
  }

  /** Numbers of runs grow with time, as epoch microseconds do, and are unique because one process schedules. */
  #nextCheckRunId(now: number): number {
    this.#lastCheckRunId = Math.max(now * 1000, this.#lastCheckRunId + 1);
    return this.#lastCheckRunId;
  }
}

/** The signals that tell polls of new runs, one for each location, lane and type. */
export function queuedSignals(runs: readonly RunRow[]): Signal[] {
  const counted = new Map<string, { signal: Signal & { kind: 'queued' }; count: number }>();
  for (const run of runs) {
    if (run.state !== 'queued' || run.location_id === null) continue;
    const key = `${run.location_id} ${run.lane} ${run.check_type}`;
    const entry = counted.get(key);
    if (entry) entry.count += 1;
    else {
      const { location_id: locationId, lane, check_type: checkType } = run;
      counted.set(key, { signal: { kind: 'queued', locationId, lane, checkType, count: 1 }, count: 1 });
    }
  }
  return [...counted.values()].map(({ signal, count }) => ({ ...signal, count }));
}
