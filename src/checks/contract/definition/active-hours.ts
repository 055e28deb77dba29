import { HolidayError, holidaysIn, isICalendar } from '@picket/lib/calendar/holidays.ts';
import {
  type HoursRule,
  holidayDays,
  hoursWithin,
  minutesOfClock,
  weekdays,
} from '@picket/lib/calendar/hours.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { isTimeZone } from '@picket/lib/time-zone.ts';
import { z } from 'zod';
import type { DefinitionProblem } from '../group-defaults.ts';

const clockTime = (example: string) =>
  z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, `must be a time such as ${example}, or 24:00`);

const mostHolidays = 400;
const longestFileChars = 500_000;

/** Days; in requests they may be the text, or the lines, of an iCalendar file. */
const Holidays = lazySchema(() =>
  z.codec(
    z
      .array(z.string().max(longestFileChars))
      .max(20_000)
      .refine((lines) => lines.reduce((sum, line) => sum + line.length, 0) <= longestFileChars, {
        message: `must not have more than ${longestFileChars} characters`,
      }),
    z.array(z.string().max(21)).max(mostHolidays),
    {
      decode: (lines, context) => {
        const text = lines.join('\n');
        if (!isICalendar(text)) return lines;
        try {
          return holidaysIn(text, Date.now(), mostHolidays);
        } catch (thrown) {
          if (!(thrown instanceof HolidayError)) throw thrown;
          context.issues.push({
            code: 'custom',
            input: lines,
            message: `the iCalendar file ${thrown.message}`,
          });
          return z.NEVER;
        }
      },
      encode: (days) => days,
    },
  ),
);

/** Hours in which a check runs. */
export const ActiveHours = lazySchema(() =>
  z
    .object({
      timeZone: z.string().max(64).default('UTC').describe('Time zone of the windows, such as Europe/Berlin'),
      mode: z
        .enum(['RUN', 'PAUSE'])
        .default('RUN')
        .describe('RUN: the check runs in the windows. PAUSE: it runs outside of them'),
      windows: z
        .array(
          z.object({
            weekdays: z.array(z.enum(weekdays)).min(1).max(7),
            from: clockTime('08:00').describe('Start by the clock of the zone'),
            to: clockTime('18:00').describe('End; not after "from": on the next day'),
          }),
        )
        .max(20)
        .default([])
        .describe('Times of the week; none: all times except the holidays'),
      holidays: Holidays.schema
        .default([])
        .describe(
          'Days on which the check does not run: 2026-12-25, or first and last day as in 2026-12-24/2027-01-01. In requests, the text of an iCalendar file may stand in place of the days',
        ),
    })
    .meta({ id: 'ActiveHours' }),
);
export type ActiveHours = z.output<typeof ActiveHours.schema>;

/** A rule that leaves no hours for this long is refused. */
const searchedMs = 400 * 86_400_000;

/** The problems with active hours, at their places in a definition. They are looked for when a definition is written. */
export function activeHoursProblems(
  hours: HoursRule | null,
  path: DefinitionProblem['path'],
): DefinitionProblem[] {
  if (hours === null) return [];
  const problems: DefinitionProblem[] = [];
  const add = (where: DefinitionProblem['path'], message: string) =>
    problems.push({ path: [...path, ...where], message });
  if (!isTimeZone(hours.timeZone)) {
    add(['timeZone'], 'must be the name of a time zone, such as Europe/Berlin or UTC');
  }
  for (const [index, { from, to }] of hours.windows.entries()) {
    if (from === '24:00') add(['windows', index, 'from'], 'must be before 24:00');
    if (minutesOfClock(from) === minutesOfClock(to)) {
      add(['windows', index, 'to'], 'must differ from "from"; a whole day is from 00:00 to 24:00');
    }
  }
  for (const [index, text] of hours.holidays.entries()) {
    if (holidayDays(text) === null) {
      add(
        ['holidays', index],
        'must be a date such as 2026-12-25, or two in order with a slash between them',
      );
    }
  }
  if (hours.windows.length === 0 && hours.holidays.length === 0) {
    add(['windows'], 'is empty, and so is "holidays": name at least one, or leave the hours out');
  }
  if (problems.length > 0) return problems;
  const now = Date.now();
  const searched = { from: now, to: now + searchedMs };
  return hoursWithin(hours, searched).length > 0
    ? []
    : [{ path: [...path], message: 'leaves no time to run in the next 400 days' }];
}
