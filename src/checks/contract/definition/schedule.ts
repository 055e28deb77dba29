import { type CalendarRule, calendarProblem } from '@picket/lib/calendar/calendar.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import type { DefinitionProblem } from '../group-defaults.ts';

/** Times by a calendar: of a cron expression or of a calendar event of systemd, in a zone. */
export const Schedule = lazySchema(() =>
  z
    .object({
      cron: z
        .string()
        .max(500)
        .nullable()
        .default(null)
        .describe(
          'Cron expression as in crontab(5): minute, hour, day of month, month, day of week; or `@daily` and its like',
        ),
      onCalendar: z
        .string()
        .max(500)
        .nullable()
        .default(null)
        .describe('`OnCalendar` of a timer of systemd, as in systemd.time(7), in place of cron'),
      timeZone: z
        .string()
        .max(64)
        .nullable()
        .default(null)
        .describe('Time zone, such as Europe/Berlin; null: that at the end of onCalendar, or UTC'),
    })
    .meta({ id: 'Schedule' }),
);

/**
 * The problem with a schedule, at its place in a definition. It is looked for when a definition is written.
 *
 * @param leastMs two of its times must be at least this far apart, in milliseconds; 30 seconds if absent.
 */
export function scheduleProblems(
  schedule: CalendarRule | null,
  path: DefinitionProblem['path'],
  leastMs?: number,
): DefinitionProblem[] {
  const problem = schedule && calendarProblem(schedule, Date.now(), leastMs);
  return problem ? [{ path: [...path, problem.field], message: problem.message }] : [];
}
