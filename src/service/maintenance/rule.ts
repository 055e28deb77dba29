import type { repeatUnits } from '../../protocol/pages/maintenance-window.ts';

/**
 * When maintenance windows recur (check model 2.7). By its rule all occurrences of a window last equally
 * long. They are computed from its first one, in UTC, and not stored: the n-th of a monthly window is n
 * months after the first, on its day or on the last one of a month that is too short, so that a window of the
 * 31st is back on the 31st after February. What people changed of single occurrences is in calendar.ts.
 */
export interface RepeatRule {
  /** Epoch milliseconds. */
  readonly startsAt: number;
  readonly endsAt: number;
  readonly repeat: { readonly interval: number; readonly unit: (typeof repeatUnits)[number] } | null;
  /** No occurrence starts after it. */
  readonly repeatEndsAt: number | null;
}

export interface Occurrence {
  /** 0 for the first one. */
  readonly index: number;
  readonly startsAt: number;
  readonly endsAt: number;
}

const dayMs = 86_400_000;
/** The last time that ISO 8601 writes with a year of four digits: answers can show no later one. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The n-th occurrence of a rule, or null when there is none. */
export function occurrence(rule: RepeatRule, index: number): Occurrence | null {
  if (!Number.isSafeInteger(index) || index < 0 || (rule.repeat === null && index > 0)) return null;
  const startsAt = startOf(rule, index);
  const endsAt = startsAt + (rule.endsAt - rule.startsAt);
  const isOver = index > 0 && rule.repeatEndsAt !== null && startsAt > rule.repeatEndsAt;
  return isOver || !(endsAt <= lastInstant) ? null : { index, startsAt, endsAt };
}

/**
 * The occurrence that an instant lies in (its end excluded), the one that began first where several overlap,
 * or null.
 */
export function occurrenceAt(rule: RepeatRule, instant: number): Occurrence | null {
  const [first] = occurrencesFrom(rule, instant);
  return first && first.startsAt <= instant ? first : null;
}

/** The occurrences that are not over at an instant, soonest first. */
export function* occurrencesFrom(rule: RepeatRule, instant: number): Generator<Occurrence> {
  // Long occurrences overlap: ones before the latest may still go on. Looked for by halves, as there can be
  // millions.
  let [first, end] = [0, (latestStarted(rule, instant) ?? -1) + 1];
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    if (startOf(rule, middle) + (rule.endsAt - rule.startsAt) > instant) end = middle;
    else first = middle + 1;
  }
  for (let next = occurrence(rule, first); next; next = occurrence(rule, next.index + 1)) yield next;
}

/** When the last occurrence ends; null when there is no last one. */
export function lastEnd(rule: RepeatRule): number | null {
  if (rule.repeat === null) return rule.endsAt;
  if (rule.repeatEndsAt === null) return null;
  const index = latestStarted(rule, rule.repeatEndsAt) ?? 0;
  return startOf(rule, index) + (rule.endsAt - rule.startsAt);
}

/** The index of the occurrence that started last by an instant, or null before the first one. */
function latestStarted(rule: RepeatRule, instant: number): number | null {
  if (instant < rule.startsAt) return null;
  const until = rule.repeatEndsAt === null ? instant : Math.min(instant, rule.repeatEndsAt);
  let index = Math.max(0, indexNear(rule, until));
  while (index > 0 && startOf(rule, index) > until) index -= 1;
  return index;
}

/** The index of the occurrence that starts last before an instant, or one more than that. */
function indexNear(rule: RepeatRule, instant: number): number {
  if (rule.repeat === null) return 0;
  const { interval, unit } = rule.repeat;
  if (unit !== 'MONTH') return Math.floor((instant - rule.startsAt) / (interval * daysOf(unit) * dayMs));
  const [from, to] = [new Date(rule.startsAt), new Date(instant)];
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  return Math.floor(months / interval);
}

function startOf(rule: RepeatRule, index: number): number {
  if (rule.repeat === null || index === 0) return rule.startsAt;
  const { interval, unit } = rule.repeat;
  if (unit !== 'MONTH') return rule.startsAt + index * interval * daysOf(unit) * dayMs;
  const first = new Date(rule.startsAt);
  const month = first.getUTCMonth() + index * interval;
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const day = Math.min(first.getUTCDate(), lastDay);
  return Date.UTC(first.getUTCFullYear(), month, day) + (rule.startsAt % dayMs);
}

function daysOf(unit: 'DAY' | 'WEEK'): number {
  return unit === 'WEEK' ? 7 : 1;
}

interface RuleFields {
  readonly startsAt: string;
  readonly endsAt: string;
  readonly repeatInterval: number | null;
  readonly repeatUnit: (typeof repeatUnits)[number] | null;
  readonly repeatEndsAt: string | null;
}

/** The rule of a window as it is written. */
export function ruleOf(window: Readonly<Record<string, unknown>>): RepeatRule {
  const fields = window as unknown as RuleFields;
  const { repeatInterval: interval, repeatUnit: unit, repeatEndsAt } = fields;
  return {
    startsAt: Date.parse(fields.startsAt),
    endsAt: Date.parse(fields.endsAt),
    repeat: interval === null || unit === null ? null : { interval, unit },
    repeatEndsAt: repeatEndsAt === null ? null : Date.parse(repeatEndsAt),
  };
}
