import { checkTypeNames, findCheckType } from '@picket/checks/index.ts';
import { isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';
import { type RawBuilder, sql } from 'kysely';
import type { PausedChecks } from './paused-checks.ts';
import { longestFreshnessMs } from './silence.ts';

/**
 * The single source of a check's state: every query that shows states selects this expression, in a statement that
 * reads `checks` and left joins `statuses`. It is computed on read, so it can change by time alone: a check whose
 * agents died sends no event.
 *
 * A check is not measured from the moment at which the second slot after the last measured one can no longer be
 * measured: two intervals, plus the time for which a slot is fresh. A run that an agent holds is a measurement in
 * progress, so its check keeps its state. For a check that never ran, the time of its last change is the baseline.
 *
 * Of checks whose slots are no plain grid (`planned_at`), the scheduler stores the newest three. Outside its hours a
 * check is paused.
 *
 * A check that runs in parallel takes its state from its measured locations; `unmeasuredPlaces` in states.ts names the
 * others.
 *
 * This is a database expression rather than a function of a row, because the overview sorts and filters 10,000 checks
 * by it. test/integration/conformance/store-suites/check-states.ts compares it with a plain model on every engine.
 */
export function stateOf(now: number, paused: PausedChecks): RawBuilder<number> {
  const since = freshSince(now);
  return sql<number>`case
    when checks.activated = 0 or ${paused.condition} or ${isResting(now)} then ${rankOf('paused')}
    when checks.check_type in (${sql.join(pinged)}) then
      case when statuses.check_id is null then ${rankOf('pending')} else ${verdictOf('statuses')} end
    when coalesce(statuses.last_slot_at, checks.updated, checks.created) < ${since} and not ${isUnderWay()}
      then ${rankOf('not-measured')}
    when statuses.check_id is null then ${rankOf('pending')}
    when checks.run_parallel = 1 then coalesce(${verdictOfPlaces(since)}, ${verdictOf('statuses')})
    else ${verdictOf('statuses')} end`;
}

/** State for a rank returned by `stateOf`. */
export function stateAt(rank: number): CheckState {
  const state = checkStates[Number(rank)];
  if (!state) throw new RangeError(`no state has the rank ${rank}`);
  return state;
}

/** Longest time a check may lack a measurement: `longestSilenceMs` as a database expression. */
const longestSilence = sql<number>`(checks.interval_ms * 2 + case when checks.interval_ms < ${sql.lit(longestFreshnessMs)}
  then checks.interval_ms else ${sql.lit(longestFreshnessMs)} end)`;

/** Measurements before this instant no longer determine the state of a check. */
export function freshSince(now: number): RawBuilder<number> {
  return sql<number>`(case when checks.planned_at is null then ${now} - ${longestSilence}
    when ${now} > ${newestUntil} then coalesce(checks.second_slot_at, 0)
    else coalesce(checks.third_slot_at, 0) end)`;
}

/** Until when the newest slot of a check without a plain grid can be measured. */
const newestUntil = sql<number>`(checks.newest_slot_at + checks.newest_fresh_ms)`;
const lastMeasuredAt = sql<number>`coalesce(statuses.last_slot_at, checks.updated, checks.created)`;

/**
 * When a check becomes not measured if no measurement arrives before, or when its hours ended. Of a check without a
 * plain grid it is not known before its next slot.
 */
export function turnsAt(now: number): RawBuilder<number> {
  return sql<number>`(case when checks.planned_at is null then ${lastMeasuredAt} + ${longestSilence}
    when ${isResting(now)} then checks.rests_from
    when ${lastMeasuredAt} < checks.third_slot_at then checks.newest_slot_at
    when ${lastMeasuredAt} < checks.second_slot_at then ${newestUntil}
    else ${Number.MAX_SAFE_INTEGER} end)`;
}

/** Whether a check is outside its hours. */
function isResting(now: number): RawBuilder<boolean> {
  return sql<boolean>`(checks.rests_from is not null and checks.rests_from <= ${now} and checks.next_slot_at > ${now})`;
}

/**
 * Whether an agent holds a run of the check, at the given location if one is named. The subquery does not depend on the
 * check, so databases read the runs in progress once for all checks, instead of once for each.
 */
export function isUnderWay(place?: RawBuilder<string>): RawBuilder<boolean> {
  const held = sql`from runs where runs.state = 'leased' and ${isUnfinished} and runs.test_session_id is null`;
  return place === undefined
    ? sql<boolean>`checks.id in (select runs.check_id ${held})`
    : sql<boolean>`(checks.id, ${place}) in (select runs.check_id, runs.slot_location ${held})`;
}

/** Types whose targets call the service: a missed call is a result, so they are always measured. */
export const pinged = checkTypeNames
  .filter((name) => findCheckType(name)?.pings !== undefined)
  .map((name) => sql.lit(name));

const rankOf = (state: CheckState) => sql.lit(checkStates.indexOf(state));

/** The verdict of a row with the flags of a result. */
function verdictOf(row: 'statuses' | 'place'): RawBuilder<number> {
  const flag = (name: 'has_failures' | 'has_errors' | 'is_degraded') => sql.ref(`${row}.${name}`);
  return sql<number>`case when ${flag('has_failures')} = 1 then ${rankOf('failing')}
    when ${flag('has_errors')} = 1 then ${rankOf('not-judged')}
    when ${flag('is_degraded')} = 1 then ${rankOf('degraded')}
    else ${rankOf('passing')} end`;
}

/**
 * Worst verdict among the measured locations that the check currently has; null if none is measured. One subquery: the
 * planner of PostgreSQL counts it for every check, also for those that do not run in parallel.
 */
function verdictOfPlaces(since: RawBuilder<number>): RawBuilder<number | null> {
  return sql<number | null>`(select min(${verdictOf('place')}) from location_statuses as place
    join check_locations as named on named.check_id = place.check_id and named.name = place.slot_location
    where place.check_id = checks.id
      and (place.slot_at >= ${since} or ${isUnderWay(sql.ref('place.slot_location'))}))`;
}
