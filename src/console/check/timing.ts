import type { CheckType } from '@picket/checks/contract/check-type.ts';
import type { ActiveHours } from '@picket/checks/contract/definition/active-hours.ts';
import type { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { failingPeriodSeconds } from '@picket/checks/contract/frequency.ts';
import { weekdays } from '@picket/lib/calendar/hours.ts';
import { withGroups } from '@picket/service/checks/effective-check.ts';
import type { Check } from '@picket/service/checks/store.ts';
import { restsUntil } from '@picket/service/checks/timing/slot-state.ts';
import { timingOf } from '@picket/service/checks/timing/timing.ts';
import { retryRules } from '@picket/service/runs/retries.ts';
import { counted, duration, shortened } from '../elements/format.ts';
import { scheduleWords, upcoming } from '../elements/next-times.ts';
import { bothTimes } from '../elements/zoned-time.ts';
import { type Content, html } from '../html.ts';
import type { PageCall } from '../page.ts';

/** Words of a check's page on its schedule, its hours and its frequency while it fails. */
export interface TimingWords {
  /** Outside its hours: when it runs next. */
  readonly notice: Content;
  /** The schedule in place of a frequency; empty: it has a frequency. */
  readonly schedule: Content;
  /** Empty: at all times. */
  readonly hours: string;
  /** Empty: as always. */
  readonly whileFailing: string;
}

/** @param nextRunAt when the check is due next. */
export async function timingWords(
  { store }: PageCall,
  check: Check,
  { nextRunAt, now }: { readonly nextRunAt: string | null; readonly now: number },
): Promise<TimingWords> {
  const [inEffect] = await withGroups(store, [check]);
  const { hours, schedule } = timingOf(inEffect ?? check);
  const { frequencyWhileFailing: minutes } = check.definition;
  const isResting = hours !== null && nextRunAt !== null && restsUntil(check.slots, now) !== null;
  return {
    notice: isResting
      ? html`<p class="notice">It is outside its hours, so no run is due. The next one is at ${bothTimes(Date.parse(nextRunAt), hours.timeZone)}.</p>`
      : '',
    schedule: schedule ? html`${scheduleWords(schedule)}${upcoming(schedule, now, hours)}` : '',
    hours: hours ? hoursWords(hours) : '',
    whileFailing:
      typeof minutes === 'number'
        ? `every ${duration(minutes === 0 ? failingPeriodSeconds * 1_000 : minutes * 60_000)}`
        : '',
  };
}

/** `Mon to Fri 08:00 to 18:00, Europe/Berlin; not on 12 holidays`. */
export function hoursWords({ timeZone, mode, windows, holidays }: ActiveHours): string {
  const times = windows
    .map(({ weekdays: days, from, to }) => `${daysWords(days)} ${from} to ${to}`)
    .join(', ');
  const runs = windows.length === 0 ? 'all days' : mode === 'RUN' ? times : `not ${times}`;
  const days = holidays.length === 0 ? '' : `; not on ${counted(holidays.length, 'holiday')}`;
  return shortened(`${runs} (${timeZone})${days}`, 300);
}

/** Consecutive days as a range. */
function daysWords(days: readonly string[]): string {
  const known = weekdays.filter((day) => days.includes(day));
  const name = (day: string) => day.charAt(0) + day.slice(1).toLowerCase();
  if (known.length === weekdays.length) return 'every day';
  const [first = '', last = ''] = [known[0], known.at(-1)];
  const isRange =
    known.length > 2 &&
    weekdays.indexOf(last as 'MON') - weekdays.indexOf(first as 'MON') === known.length - 1;
  return isRange ? `${name(first)} to ${name(last)}` : known.map(name).join(' ');
}

/** Describes the effective retries: by the strategy of the check or its group, or the one retry of `doubleCheck`. */
export async function retryWords({ store }: PageCall, check: Check, type: CheckType): Promise<string> {
  const [effective] = await withGroups(store, [check]);
  const { retryStrategy, doubleCheck, runParallel } = effective?.definition ?? check.definition;
  const strategy = (retryStrategy ?? null) as RetryStrategy | null;
  const rules =
    type.isRetried === false
      ? null
      : retryRules({ retryStrategy: strategy, doubleCheck: doubleCheck === true });
  if (rules === null) return 'none';
  const kind =
    rules.maxRetries === 1
      ? 'once'
      : `${rules.type.toLowerCase()}, up to ${counted(rules.maxRetries, 'time')}`;
  const wait = rules.baseSeconds === 0 ? 'at once' : `after ${duration(rules.baseSeconds * 1_000)}`;
  const place =
    rules.sameRegion || runParallel === true
      ? 'at the same location'
      : 'at another location where there is one';
  return `${kind}, ${wait}, ${place}${rules.onlyNetworkErrors ? ', after network errors only' : ''}`;
}
