import { randomInt, randomUUID } from 'node:crypto';
import { findCheckType } from '@picket/checks/index.ts';
import { endedAt, notEnded } from '@picket/platform/store/days/ended-day.ts';
import { schedulePartCount } from '@picket/platform/store/engine/schedule-parts.ts';
import type { EffectiveCheck } from '../checks/effective-check.ts';
import { planAfter } from '../checks/timing/planned-slots.ts';
import type { PlannedSlots } from '../checks/timing/slot-state.ts';
import { locationsOf, locationsOfNumber, slotIndex } from '../checks/timing/slots.ts';
import { lastOf, type SlotRow } from '../checks/timing/timetable.ts';
import { dueTimes, type Timing, timingOf } from '../checks/timing/timing.ts';
import type { RunRow } from './tables.ts';

/**
 * Numbers of runs (`checkRunId`): they increase with time, like epoch microseconds, and are unique within a process.
 * They start at a random microsecond, so that two processes in the same millisecond rarely collide. Schedulers run at
 * the same instants with many runs each, so each uses numbers with a remainder of its own.
 */
export class RunNumbers {
  readonly #newId: (now: number) => string;
  #last = 0;

  /** @param newId id of a run that is created at an instant; absent: a random one. */
  constructor(newId: (now: number) => string = () => randomUUID()) {
    this.#newId = newId;
  }

  newId(now: number): string {
    return this.#newId(now);
  }

  /** The same for runs that are created now, though before their slots. */
  of(now: number, part?: number): Pick<RunNumbers, 'next' | 'newId'> {
    return { next: () => this.next(now, part), newId: () => this.newId(now) };
  }

  /** @param part of the schedule that only this process currently holds. */
  next(now: number, part?: number): number {
    const least = Math.max(now * 1000 + randomInt(1000), this.#last + 1);
    const missing = part === undefined ? 0 : (part - least) % schedulePartCount;
    this.#last = least + (missing < 0 ? missing + schedulePartCount : missing);
    return this.#last;
  }
}

/**
 * Id of a run in the order of time: a UUID of version 7 (RFC 9562). New runs, and results, whose ids begin like those of
 * their runs, are next to each other in the indexes by id: a hundred new entries change two pages instead of a hundred.
 */
export function idInOrder(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Location and time at which a run is due. */
export interface RunPlace {
  /** Id of the run; absent: a random one. */
  readonly id?: string;
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
  const { id = randomUUID() } = place;
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

/** Afterwards a turn of the scheduler ends for a check: the rest of a long gap follows in the next turn. */
const mostRowsOfGap = 200;

/** Circumstances of a check at its due slots. */
export interface DueState {
  readonly now: number;
  readonly isPaused: (slotAt: number) => boolean;
  readonly isFailing: boolean;
}

/** The runs of due slots, and the slots after them. */
export interface DueRuns {
  readonly rows: readonly RunRow[];
  readonly planned: PlannedSlots;
}

/**
 * Runs for the due slots of a check that have no runs yet. After a gap (the service was away) only the newest slot is
 * run, and only while it is fresh; the older ones become terminal records, one for each stretch of slots at the same
 * distance, with their number. A slot in which the check is paused becomes a terminal record, too.
 *
 * @param check with the settings of its group applied.
 * @param locationIds private locations by `accountId/slug`.
 */
export function runsDue(
  check: EffectiveCheck,
  locationIds: ReadonlyMap<string, string>,
  numbers: Pick<RunNumbers, 'next' | 'newId'>,
  { now, isPaused, isFailing }: DueState,
): DueRuns {
  const timing = timingOf(check);
  const { nextSlotAt: first } = check.slots;
  const locations = locationsOf(check.definition);
  if (first === null || first > now || locations.length === 0) {
    return { rows: [], planned: planAfter(timing, check.slots, now, now) };
  }
  const times = dueTimes(timing, isFailing);
  const newest = times.newest(now);
  if (newest === null || newest < first) {
    return { rows: [], planned: planAfter(timing, check.slots, now, now) };
  }
  const freshMs = times.freshMs(newest);
  const isNewestFresh = now - newest < freshMs;
  const missedUntil = isNewestFresh ? times.newest(newest - 1) : newest;
  const isGap = missedUntil !== null && missedUntil >= first;
  const missed = isGap
    ? times.list(first, missedUntil, mostRowsOfGap)
    : { rows: [], untilMs: missedUntil ?? newest };
  // The rest of a long gap comes first.
  const isWhole = missed.untilMs >= (missedUntil ?? newest);
  const runs = isWhole && isNewestFresh ? [{ firstAt: newest, strideMs: 0, count: 1 }] : [];
  let number = check.slots.slotNumber;
  const row = (slots: SlotRow, ends: (slotAt: number) => Partial<RunRow>): RunRow[] => {
    const { firstAt: slotAt, count } = slots;
    const places = locationsOfNumber(
      numberOf(timing, slotAt, number),
      locations,
      check.definition.runParallel === true,
    );
    number += count;
    return places.map((location) => ({
      ...queuedRun(check, {
        id: numbers.newId(now),
        location,
        locationId: locationIds.get(`${check.accountId}/${location}`) ?? null,
        slotAt,
        freshMs: times.freshMs(slotAt),
        checkRunId: numbers.next(now),
        now,
      }),
      ...ends(slotAt),
    }));
  };
  const away = ({ count, strideMs }: SlotRow): Partial<RunRow> => ({
    slot_count: count,
    slot_interval_ms: count === 1 && !timing.isPlain ? null : strideMs,
    state: 'missed',
    reason: 'service-away',
    ...endedAt(now),
  });
  const paused: Partial<RunRow> = { state: 'missed', reason: 'paused-by-maintenance', ...endedAt(now) };
  const rows = [
    ...missed.rows.flatMap((slots) => row(slots, () => away(slots))),
    ...runs.flatMap((slots) => row(slots, (slotAt) => (isPaused(slotAt) ? paused : {}))),
  ];
  const passed = [...missed.rows, ...runs];
  return {
    rows,
    planned: planAfter(timing, check.slots, isWhole ? now : missed.untilMs, now, {
      newest: passed.flatMap(newestOf).slice(-3),
      count: passed.reduce((sum, { count }) => sum + count, 0),
      freshMs,
    }),
  };
}

/**
 * The runs of the next slot of a check before it is due. Undefined if that slot must wait until then: the check is
 * paused, so that the slot becomes a terminal record, or its slots are no plain grid and depend on what happens before.
 *
 * @param check with the settings of its group applied.
 */
export function runsAhead(
  check: EffectiveCheck,
  locationIds: ReadonlyMap<string, string>,
  numbers: Pick<RunNumbers, 'next' | 'newId'>,
  { now, isPaused }: Omit<DueState, 'isFailing'>,
): DueRuns | undefined {
  const { nextSlotAt: slotAt } = check.slots;
  if (slotAt === null || !timingOf(check).isPlain || isPaused(slotAt)) return undefined;
  const { rows, planned } = runsDue(check, locationIds, numbers, { now: slotAt, isPaused, isFailing: false });
  return { rows: rows.map((row) => ({ ...row, created: now })), planned };
}

/** The slots of a grid are numbered since the epoch, others since the check was created. */
function numberOf({ isPlain, grid }: Timing, slotAt: number, number: number): number {
  return isPlain ? slotIndex(grid, slotAt) : number;
}

/** Up to three slots at the end of a stretch. */
function newestOf(slots: SlotRow): number[] {
  const last = lastOf(slots);
  return [2, 1, 0].filter((back) => back < slots.count).map((back) => last - back * slots.strideMs);
}
