import { randomInt, randomUUID } from 'node:crypto';
import { findCheckType } from '@picket/checks/index.ts';
import { endedAt, notEnded } from '@picket/platform/store/days/ended-day.ts';
import { schedulePartCount } from '@picket/platform/store/engine/schedule-parts.ts';
import type { EffectiveCheck } from '../checks/effective-check.ts';
import { freshnessMs, gridOf, locationsOf, locationsOfSlot, slotIndex } from '../checks/slots.ts';
import type { RunRow } from './tables.ts';

/**
 * Numbers of runs (`checkRunId`): they increase with time, like epoch microseconds, and are unique within a process.
 * They start at a random microsecond, so that two processes in the same millisecond rarely collide. Schedulers run at
 * the same instants with many runs each, so each uses numbers with a remainder of its own.
 */
export class RunNumbers {
  #last = 0;

  /** @param part of the schedule that only this process currently holds. */
  next(now: number, part?: number): number {
    const least = Math.max(now * 1000 + randomInt(1000), this.#last + 1);
    const missing = part === undefined ? 0 : (part - least) % schedulePartCount;
    this.#last = least + (missing < 0 ? missing + schedulePartCount : missing);
    return this.#last;
  }
}

/** Location and time at which a run is due. */
export interface RunPlace {
  readonly location: string;
  /** Null for data-center regions. */
  readonly locationId: string | null;
  readonly slotAt: number;
  /** How long it may wait in the queue, in milliseconds. */
  readonly freshMs: number;
  readonly checkRunId: number;
  readonly now: number;
}

/** A run as it is inserted into the ledger. */
export function queuedRun(check: EffectiveCheck, place: RunPlace): RunRow {
  const id = randomUUID();
  const type = findCheckType(check.checkType);
  return {
    id,
    account_id: check.accountId,
    check_id: check.id,
    check_type: check.checkType,
    lane: type?.lane ?? 'probe',
    location_id: place.locationId,
    location: place.location,
    slot_location: place.location,
    slot_at: place.slotAt,
    slot_count: 1,
    slot_interval_ms: null,
    state: 'queued',
    reason: null,
    attempt: 0,
    freshness_ms: place.freshMs,
    ready_at: place.slotAt,
    expires_at: place.slotAt + place.freshMs,
    lease_number: 0,
    lease_until: null,
    agent_id: null,
    session_id: null,
    claim_number: null,
    deaths: 0,
    first_leased_at: null,
    last_result_id: null,
    runtime_id: check.neededRuntimeId,
    sequence_id: id,
    check_run_id: place.checkRunId,
    created: place.now,
    ended: null,
    ended_day: notEnded,
    check_session_id: null,
    test_session_id: null,
  };
}

/**
 * Runs for the due slots of a check that have no runs yet. After a gap (the service was away) only the newest slot is
 * run, and only while it is fresh; the older ones become one terminal record per gap, with the number of slots it
 * covers. A slot in which the check is paused becomes a terminal record, too.
 *
 * @param check with the settings of its group applied.
 * @param locationIds private locations by `accountId/slug`.
 */
export function runsDue(
  check: EffectiveCheck,
  now: number,
  locationIds: ReadonlyMap<string, string>,
  numbers: Pick<RunNumbers, 'next'>,
  isPaused: (slotAt: number) => boolean,
): RunRow[] {
  const grid = gridOf(check);
  const first = check.nextSlotAt;
  const locations = locationsOf(check.definition);
  if (first === null || first > now || locations.length === 0) return [];
  const runParallel = check.definition.runParallel === true;
  const newest = grid.phaseMs + slotIndex(grid, now) * grid.intervalMs;
  const freshMs = freshnessMs(grid);
  const isNewestFresh = newest >= first && now - newest < freshMs;
  const lastMissed = isNewestFresh ? newest - grid.intervalMs : newest;
  const row = (location: string, slotAt: number): RunRow =>
    queuedRun(check, {
      location,
      locationId: locationIds.get(`${check.accountId}/${location}`) ?? null,
      slotAt,
      freshMs,
      checkRunId: numbers.next(now),
      now,
    });
  const rows: RunRow[] = [];
  if (lastMissed >= first) {
    const slotCount = Math.round((lastMissed - first) / grid.intervalMs) + 1;
    for (const location of locationsOfSlot(grid, first, locations, runParallel)) {
      rows.push({
        ...row(location, first),
        slot_count: slotCount,
        slot_interval_ms: grid.intervalMs,
        state: 'missed',
        reason: 'service-away',
        ...endedAt(now),
      });
    }
  }
  if (isNewestFresh) {
    const paused: Partial<RunRow> = { state: 'missed', reason: 'paused-by-maintenance', ...endedAt(now) };
    const end = isPaused(newest) ? paused : {};
    for (const location of locationsOfSlot(grid, newest, locations, runParallel)) {
      rows.push({ ...row(location, newest), ...end });
    }
  }
  return rows;
}
