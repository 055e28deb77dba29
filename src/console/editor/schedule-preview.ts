import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { ActiveHours, activeHoursProblems } from '@picket/checks/contract/definition/active-hours.ts';
import { scheduleProblems } from '@picket/checks/contract/definition/schedule.ts';
import { shortestIntervalMs } from '@picket/checks/contract/frequency.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { CalendarRule } from '@picket/lib/calendar/calendar.ts';
import { type HoursRule, hoursWithin } from '@picket/lib/calendar/hours.ts';
import { nextTimeList } from '../elements/next-times.ts';
import { inZone } from '../elements/zoned-time.ts';
import { objectWord } from '../forms/field.ts';
import { objectOf } from '../forms/values.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall, View } from '../page.ts';
import { checkPlan } from './sections.ts';

/** Where the form asks for the preview. */
export const previewPath = '/checks/schedule-preview';

const scheduleOfRuns = 'schedule';
const dayMs = 86_400_000;
/** Hours are shown from this period. */
const shownMs = 30 * dayMs;
const spansShown = 7;

/** The next times and hours of the schedule in a form. It follows the form as it is filled in. */
export function schedulePreview(type: CheckType, values: URLSearchParams, now: number): Content {
  const field = type.pings?.scheduleField ?? scheduleOfRuns;
  const hasSchedule = values.get(field) === objectWord;
  if (type.pings) {
    const otherwise = html`<p class="soft">Pings are expected at an interval after the last one.</p>`;
    return panel('Next pings', hasSchedule ? timesOf(ruleIn(values, field), field, now) : otherwise);
  }
  const hours = values.get('activeHours') === objectWord ? hoursIn(type, values) : null;
  const times = hasSchedule ? timesOf(ruleIn(values, field), field, now, { hours, type }) : '';
  const spans = hours ? spansOf(hours, now) : '';
  const isOften = !hasSchedule && !hours;
  return panel(
    'Next runs',
    isOften ? html`<p class="soft">It runs at its interval, at all times.</p>` : html`${times}${spans}`,
  );
}

/** Shows the preview again with the values of the form. */
export async function previewSchedule({ form, clock }: PageCall): Promise<View> {
  const type = findCheckType(form.get('$type') ?? '');
  return { main: html`${type ? schedulePreview(type, form, clock.wallMs()) : ''}` };
}

function timesOf(
  rule: CalendarRule,
  field: string,
  now: number,
  runs?: { readonly hours: HoursRule | null; readonly type: CheckType },
): Html {
  const [problem] = scheduleProblems(rule, [], runs && shortestIntervalMs(runs.type));
  if (!problem) return nextTimeList(rule, now, runs?.hours ?? null);
  return html`<p class="soft">It cannot be saved: ${field}.${problem.path.join('.')} ${problem.message}.</p>`;
}

/** Hours in the form; null while a part of them is in no form. */
function hoursIn(type: CheckType, values: URLSearchParams): HoursRule | null {
  const { activeHours } = objectOf(checkPlan(type).fields, values);
  const hours = ActiveHours.safeParse(activeHours).data;
  return hours && activeHoursProblems(hours, []).length === 0 ? hours : null;
}

function spansOf(hours: HoursRule, now: number): Html {
  const spans = hoursWithin(hours, { from: now, to: now + shownMs }).slice(0, spansShown);
  const words = spans.map(
    ({ from, to }) => html`<li>${inZone(from, hours.timeZone)} to ${inZone(to, hours.timeZone)}</li>`,
  );
  return html`<h3>Next hours</h3>${words.length === 0 ? html`<p>None in the next 30 days.</p>` : html`<ol class="occurrences">${words}</ol>`}`;
}

function ruleIn(values: URLSearchParams, field: string): CalendarRule {
  const text = (name: string) => values.get(`${field}.${name}`)?.trim() || null;
  return { cron: text('cron'), onCalendar: text('onCalendar'), timeZone: text('timeZone') };
}

function panel(title: string, content: Content): Html {
  return html`<section class="preview" id="schedule-preview" aria-live="polite" hx-post="${previewPath}" hx-trigger="input delay:500ms from:closest form" hx-include="closest form" hx-target="#schedule-preview" hx-select="#schedule-preview" hx-swap="outerMorph"><h2>${title}</h2>${content}</section>`;
}
