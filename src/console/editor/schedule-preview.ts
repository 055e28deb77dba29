import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { scheduleProblems } from '@picket/checks/contract/definition/schedule.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { CalendarRule } from '@picket/lib/calendar/calendar.ts';
import { nextTimeList } from '../elements/next-times.ts';
import { objectWord } from '../forms/field.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall, View } from '../page.ts';

/** Where the form asks for the preview. */
export const previewPath = '/checks/schedule-preview';

/** The next times of the schedule in a form; empty for types without one. It follows the form as it is filled in. */
export function schedulePreview(type: CheckType, values: URLSearchParams, now: number): Content {
  const field = type.pings?.scheduleField;
  if (field === undefined) return '';
  return panel(
    values.get(field) === objectWord
      ? timesOf(ruleIn(values, field), field, now)
      : html`<p class="soft">Pings are expected at an interval after the last one.</p>`,
  );
}

/** Shows the preview again with the values of the form. */
export async function previewSchedule({ form, clock }: PageCall): Promise<View> {
  const type = findCheckType(form.get('$type') ?? '');
  return { main: html`${type ? schedulePreview(type, form, clock.wallMs()) : ''}` };
}

function timesOf(rule: CalendarRule, field: string, now: number): Html {
  const [problem] = scheduleProblems(rule, []);
  if (!problem) return nextTimeList(rule, now);
  return html`<p class="soft">It cannot be saved: ${field}.${problem.path.join('.')} ${problem.message}.</p>`;
}

function ruleIn(values: URLSearchParams, field: string): CalendarRule {
  const text = (name: string) => values.get(`${field}.${name}`)?.trim() || null;
  return { cron: text('cron'), onCalendar: text('onCalendar'), timeZone: text('timeZone') };
}

function panel(content: Content): Html {
  return html`<section class="preview" id="schedule-preview" aria-live="polite" hx-post="${previewPath}" hx-trigger="input delay:500ms from:closest form" hx-include="closest form" hx-target="#schedule-preview" hx-select="#schedule-preview" hx-swap="outerMorph"><h2>Next pings</h2>${content}</section>`;
}
