import { durationText } from '@picket/lib/figures/duration.ts';
import { isoText } from '@picket/lib/figures/time.ts';
import { instantOf } from './instant.ts';

const unitsMs = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Clocks of two hosts differ: a date that is this much ahead counts as now. */
export const clockToleranceMs = 60_000;

/** Returns the milliseconds of an age such as `10m`, `90 s`, `1.5h` or `7d`; undefined for anything else. */
export function ageMs(text: string): number | undefined {
  const [, amount, unit] = /^\s*(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|min|m|h|d)\s*$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * unitsMs[unit as keyof typeof unitsMs];
}

/** Returns why a text is not a usable age, or undefined if it is one. */
export function ageProblem(text: string): string | undefined {
  if (ageMs(text) !== undefined) return undefined;
  return `${JSON.stringify(text)} is not an age: write a number and ms, s, m, h or d, such as 10m`;
}

/** Returns why a date is not younger (or older) than an age, or null if it is. */
export function ageMismatch(
  value: unknown,
  wanted: { readonly isLess: boolean; readonly ms: number },
  nowMs: number,
): string | null {
  const at = instantOf(value);
  if (at === undefined) {
    return 'which is neither an HTTP date, nor ISO 8601, nor Unix time in seconds or milliseconds';
  }
  const age = nowMs - at;
  if (age < -clockToleranceMs) {
    return `which is ${durationText(-age)} in the future by the clock of the agent, ${isoText(nowMs)}`;
  }
  // A date slightly ahead is as young as one can be.
  const isLess = Math.max(0, age) < wanted.ms;
  if (isLess === wanted.isLess) return null;
  return `which was ${durationText(age)} ago by the clock of the agent, ${isoText(nowMs)}`;
}
