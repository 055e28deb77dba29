import { durationText } from '@picket/lib/figures/duration.ts';
import { utcText } from '@picket/lib/figures/time.ts';
import type { SummaryFact, SummaryText, SummaryValue } from './detail-summary.ts';

export function fact(name: string, value: SummaryValue, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}

/** A fact that differs between runs by nature. */
export function volatileFact(name: string, value: SummaryValue, problem: string | null = null): SummaryFact {
  return { name, value, problem, isVolatile: true };
}

/** A name or an address, shown verbatim. */
export function code(text: string | null | undefined): SummaryValue {
  return text ? { kind: 'code', text } : null;
}

export function took(ms: number | null | undefined): SummaryValue {
  return ms === null || ms === undefined ? null : { kind: 'duration', ms };
}

export function instant(at: string | null): SummaryValue {
  return at === null ? null : { kind: 'instant', at };
}

/** A text to compare between two runs; no entry for an empty text. */
export function comparedText(label: string, text: string | null | undefined): SummaryText[] {
  return text ? [{ label, text, compared: text }] : [];
}

/** The trace id, which tracing systems search by. */
export function traceFact(traceparent: string | undefined): SummaryFact {
  return volatileFact('Trace', code(traceparent?.slice(3, 35)));
}

/** Converts `STATUS_CODE` to words. */
export function inWords(name: string): string {
  return name.toLowerCase().replaceAll('_', ' ');
}

/** Formats a value as text, for terminals and comparisons of runs. */
export function valueWords(value: SummaryValue): string {
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (value.kind === 'duration') return `${durationText(value.ms)}${value.note ? ` (${value.note})` : ''}`;
  return value.kind === 'instant' ? utcText(value.at, 'second') : value.text;
}
