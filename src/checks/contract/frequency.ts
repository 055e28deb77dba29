import type { CalendarRule } from '@picket/lib/calendar/calendar.ts';
import type { z } from 'zod';

/** Minutes between runs that the API accepts; 0 means "every `frequencyOffset` seconds" (spec.md, common fields). */
export const frequencies = [0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440] as const;
export type Frequency = (typeof frequencies)[number];

/** Periods in seconds that frequency 0 accepts as its offset. */
export const subMinutePeriodsSeconds = [10, 20, 30] as const;

/**
 * Which `frequencyOffset` values a frequency accepts: a range, or for frequency 0 a list of periods in
 * seconds.
 */
export function offsetRule(
  frequency: number,
): { readonly allowed: readonly number[] } | { readonly min: number; readonly max: number } {
  if (frequency === 0) return { allowed: subMinutePeriodsSeconds };
  if (frequency <= 60) return { min: 1, max: Math.floor(frequency * 10) };
  return { min: 1, max: Math.ceil(frequency / 60) };
}

/** Returns why an offset does not fit a frequency, or null if it does. */
export function offsetProblem(frequency: number, offset: number): string | null {
  const rule = offsetRule(frequency);
  if ('allowed' in rule) {
    return rule.allowed.includes(offset)
      ? null
      : `must be one of [${rule.allowed.join(', ')}] when frequency is 0`;
  }
  return offset >= rule.min && offset <= rule.max
    ? null
    : `must be between ${rule.min} and ${rule.max} when frequency is ${frequency}`;
}

/** Seconds between runs of a failing check whose frequency while it fails is 0. */
export const failingPeriodSeconds = 30;

/** Rules of a check type for frequencies. */
interface FrequencyRules {
  readonly name: string;
  readonly isSubMinuteAllowed: boolean;
  /** With its own schema of `frequency`, if it has one. */
  readonly spec: { readonly shape: Readonly<Record<string, unknown>> };
}

/** The shortest time between two runs of a check that its type allows, in milliseconds. */
export function shortestIntervalMs(type: FrequencyRules): number {
  if (type.isSubMinuteAllowed) return failingPeriodSeconds * 1_000;
  const own = type.spec.shape['frequency'] as z.ZodType | undefined;
  const allowed = frequencies.filter((minutes) => minutes > 0 && own?.safeParse(minutes).success !== false);
  return Math.min(...allowed) * 60_000;
}

/**
 * Returns why a check cannot run at a frequency while it fails, or null if it can.
 *
 * @param frequency null for checks with a schedule.
 */
export function failingFrequencyProblem(
  type: FrequencyRules,
  frequency: number | null,
  whileFailing: number,
): string | null {
  if (whileFailing === 0 && !type.isSubMinuteAllowed) return `must not be 0 for checks of type ${type.name}`;
  const own = type.spec.shape['frequency'] as z.ZodType | undefined;
  if (own?.safeParse(whileFailing).success === false) {
    return `must not be ${whileFailing} for checks of type ${type.name}`;
  }
  return frequency === null || whileFailing < frequency ? null : 'must be less than frequency';
}

/** Milliseconds between two slots of a check. For frequency 0 the offset is the period, in seconds. */
export function intervalMs(frequency: number, frequencyOffset: number): number {
  return frequency === 0 ? frequencyOffset * 1000 : frequency * 60_000;
}

/** When and where pings of a check are expected. */
export interface PingExpectation {
  /** Secret in the ping URL; null if none has been chosen yet. */
  readonly token: string | null;
  /** Expected interval of pings, in milliseconds; null with a schedule. */
  readonly periodMs: number | null;
  /** Times at which pings are expected; null with a period. */
  readonly schedule: CalendarRule | null;
  /** Tolerated delay of a ping, in milliseconds. */
  readonly graceMs: number;
  /** How long a run of the job may take, in milliseconds; null: any time. */
  readonly longestRunMs: number | null;
}

/** Texts in the body of an ordinary ping that decide about its job: the first list with one of them. */
export interface BodyFilters {
  readonly failure: readonly string[];
  readonly success: readonly string[];
  readonly start: readonly string[];
}

/** Rules for a type whose targets send pings. */
export interface PingRules<Spec> {
  expectation(spec: Spec): PingExpectation;
  /** Path of the schedule in forms. */
  readonly scheduleField: string;
  filters(spec: Spec): BodyFilters;
  /** Response times of runs that are degraded or failed, in milliseconds; null: any time is fine. */
  limits(spec: Spec): {
    readonly degradedResponseTime: number | null;
    readonly maxResponseTime: number | null;
  };
  /** The URL of its pings as responses show it; null if it is hidden. */
  url(spec: Spec): string | null;
  /** The spec with the token of its pings, and with the ping URL if known. */
  addressed(spec: Spec, address: { readonly token: string | null; readonly url: string | null }): Spec;
}
