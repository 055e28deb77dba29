import { instantOfLocal, localTime } from '@picket/lib/time-zone.ts';
import type { QuietHours } from '@picket/protocol/alerts/quiet-hours.ts';
import { Temporal } from 'temporal-polyfill';
import { type AlertFacts, isOfCheck } from '../facts.ts';
import type { Notice } from '../state.ts';

/**
 * End of the quiet hours that contain an instant; null outside of them. They begin and end when the clocks of their
 * zone first show the time, so a night with a clock change is an hour longer or shorter. A time that the clocks skip is
 * shifted later by the length of the gap.
 *
 * @param at epoch milliseconds, as is the result.
 */
export function quietUntil(
  { from, until, timezone }: Pick<QuietHours, 'from' | 'until' | 'timezone'>,
  at: number,
): number | null {
  const today = localTime(at, timezone).toPlainDate();
  for (const daysAgo of [0, 1]) {
    const day = today.subtract({ days: daysAgo });
    const lastDay = until > from ? day : day.add({ days: 1 });
    const instantOf = (date: typeof day, time: string) =>
      instantOfLocal(date.toPlainDateTime(Temporal.PlainTime.from(time)), timezone);
    const end = instantOf(lastDay, until);
    if (at >= instantOf(day, from) && at < end) return end;
  }
  return null;
}

/** Whether a notification waits for the end of quiet hours; tests never do. */
export function isHeld(
  { exceptFailures }: Pick<QuietHours, 'exceptFailures'>,
  notice: Notice,
  { subject, recoversFrom }: Pick<AlertFacts, 'subject' | 'recoversFrom'>,
): boolean {
  if (subject === 'test') return false;
  return !exceptFailures || (notice !== 'failure' && !(notice === 'recovery' && recoversFrom === 'failure'));
}

/** Groups news of one check by subject: its state, its certificate, each gap. */
export function threadOf(notice: Notice, facts: Pick<AlertFacts, 'subject' | 'runLocation'>): string {
  if (notice === 'ssl') return 'certificate';
  if (isOfCheck(facts) && facts.subject !== 'gap') return 'check';
  return `${facts.subject} ${facts.runLocation ?? ''}`;
}
