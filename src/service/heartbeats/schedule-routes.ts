import { scheduleProblems } from '@picket/checks/contract/definition/schedule.ts';
import { nextTimes, zoneOf } from '@picket/lib/calendar/calendar.ts';
import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { scheduleRoutes } from '@picket/protocol/checks/schedule.ts';

/** Times of schedules that are not stored: previews. */
export function scheduleHandlers({ clock }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(scheduleRoutes, {
    async listScheduleTimes({ query }) {
      const { cron = null, onCalendar = null, timeZone = null, limit } = query;
      const rule = { cron, onCalendar, timeZone };
      const problems = scheduleProblems(rule, []);
      if (problems.length > 0) {
        const fields = problems.map(({ path, message }) => ({ key: path.join('.'), message }));
        throw fieldError('query', fields);
      }
      return { timeZone: zoneOf(rule), times: nextTimes(rule, clock.wallMs(), limit).map(iso) };
    },
  });
}
