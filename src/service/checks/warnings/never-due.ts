import { LruMap } from '@picket/lib/lru.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import type { EffectiveCheck } from '../effective-check.ts';
import { horizonMs } from '../timing/timetable.ts';
import { type Timing, timingOf } from '../timing/timing.ts';

const hourMs = 3_600_000;
const horizonDays = Math.floor(horizonMs / 86_400_000);

/** That a timing has no time is known only after all of the horizon: some ten milliseconds. */
const known = new LruMap<string, boolean>(1_000);

/**
 * The warning of a check that is never due: its schedule is over, or has no time in the hours of its group. A
 * definition that leaves no time by itself is refused.
 *
 * @param check with the settings of its group.
 * @param now epoch milliseconds.
 */
export function neverDueWarnings(check: EffectiveCheck, now: number): Warning[] {
  const timing = timingOf(check);
  const { schedule, hours } = timing;
  if ((!schedule && !hours) || isEverDue(timing, now)) return [];
  const ofEither = '"activeHours" of the check or of its group';
  const period = `the next ${horizonDays} days`;
  const [field, message] = !schedule
    ? ['activeHours', `${ofEither} leaves no time in ${period}. Change it.`]
    : hours
      ? ['schedule', `no time of "schedule" in ${period} is within ${ofEither}. Change one of the two.`]
      : ['schedule', '"schedule" has no time from now on. Change it.'];
  return [{ code: 'NEVER_DUE', field, message: `The check does not run: ${message}` }];
}

/** The same for all checks with these settings: hours that miss the grid of a check have a slot of their own. */
function isEverDue({ schedule, hours, usual }: Timing, now: number): boolean {
  const key = JSON.stringify([schedule, hours, Math.floor(now / hourMs)]);
  return known.getOrMake(key, () => usual.next(now) !== null);
}
