import { type CalendarRule, nextTime } from '@picket/lib/calendar/calendar.ts';
import { type HoursRule, hoursWithin } from '@picket/lib/calendar/hours.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { z } from 'zod';
import type { CheckType } from '../check-type.ts';
import { failingFrequencyProblem, offsetProblem, shortestIntervalMs } from '../frequency.ts';
import type { DefinitionProblem } from '../group-defaults.ts';
import type { MaskedValue } from '../masking.ts';
import { activeHoursProblems } from './active-hours.ts';
import { CommonFields, maskedInCommon } from './common-fields.ts';
import { scheduleProblems } from './schedule.ts';

/** A complete check of some type as written and stored: the common fields and the type's own. */
export type CheckDefinition = CommonFields & Record<string, unknown>;

/**
 * Returns the schema of a complete check of one type: common fields, the type's own fields and the rules between fields
 * (spec.md: `frequencyOffset` rules; check model 1.1, 2.1). Unknown keys are dropped. POST uses it directly, PUT after
 * merging the body into the stored definition.
 */
export function definitionSchema(type: CheckType) {
  return z
    .object({ ...CommonFields.shape, ...type.spec.shape })
    .superRefine((definition, context) => {
      const areFieldsValid = context.issues.length === 0;
      const issue = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
      const common = definition as unknown as CommonFields;
      if (common.frequency === 0 && !type.isSubMinuteAllowed) {
        issue(['frequency'], `must not be 0 for checks of type ${type.name}`);
      } else if (common.frequencyOffset !== undefined) {
        const problem = offsetProblem(common.frequency, common.frequencyOffset);
        if (problem) issue(['frequencyOffset'], problem);
      }
      if (common.retryStrategy?.onlyOn !== undefined && !type.hasNetworkErrors) {
        issue(['retryStrategy', 'onlyOn'], `is not allowed for checks of type ${type.name}`);
      }
      for (const { path, message } of areFieldsValid ? timingProblems(type, common) : []) {
        context.addIssue({ code: 'custom', path: [...path], message });
      }
      // The spec's shape lacks the rules between the type's own fields; they need valid fields.
      const own = areFieldsValid ? type.spec.safeParse(definition) : undefined;
      const broken = own?.success ? type.definitionProblems?.(own.data) : own?.error.issues;
      for (const { path, message } of broken ?? []) {
        context.addIssue({ code: 'custom', path: [...path], message });
      }
    })
    .meta({
      id: `${pascalName(type)}Input`,
      description: `${type.title}, in exactly this form`,
    });
}

/** Problems of the fields that say when a check runs, apart from its frequency. */
function timingProblems(
  type: CheckType,
  { frequency, frequencyWhileFailing, schedule, activeHours }: CommonFields,
): DefinitionProblem[] {
  if (type.pings) {
    const set = Object.entries({ schedule, frequencyWhileFailing, activeHours }).filter(
      ([, value]) => value !== null,
    );
    const message = `is not allowed for checks of type ${type.name}, which no agent runs`;
    return set.map(([field]) => ({ path: [field], message }));
  }
  const failing =
    frequencyWhileFailing === null
      ? null
      : failingFrequencyProblem(type, schedule ? null : frequency, frequencyWhileFailing);
  const problems = [
    ...(failing === null ? [] : [{ path: ['frequencyWhileFailing'], message: failing }]),
    ...scheduleProblems(schedule, ['schedule'], shortestIntervalMs(type)),
    ...activeHoursProblems(activeHours, ['activeHours']),
  ];
  if (problems.length > 0 || !schedule || !activeHours) return problems;
  return hasTimeWithin(schedule, activeHours, Date.now())
    ? []
    : [{ path: ['activeHours'], message: 'leaves out all of the next 1,000 times of the schedule' }];
}

const timesSearched = 1_000;

function hasTimeWithin(schedule: CalendarRule, hours: HoursRule, now: number): boolean {
  let at = nextTime(schedule, now);
  for (let searched = 0; at !== null && searched < timesSearched; searched += 1) {
    if (hoursWithin(hours, { from: at, to: at + 1 }).length > 0) return true;
    at = nextTime(schedule, at);
  }
  return false;
}

/** Values of checks of a type that API responses do not show. */
export function maskedValues(type: CheckType | undefined): readonly MaskedValue[] {
  return [...maskedInCommon, ...(type?.masked ?? [])];
}

/**
 * Completes a stored definition to the current format: fields that were added after the check was stored get their
 * defaults, in nested objects too. A field with a value that this build rejects stays unchanged.
 */
export function completeDefinition(
  type: CheckType | undefined,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const completed: Record<string, unknown> = { ...stored };
  for (const [key, field] of Object.entries({ ...CommonFields.shape, ...type?.spec.shape })) {
    const parsed = (field as z.ZodType).safeParse(stored[key]);
    if (parsed.success && parsed.data !== undefined) completed[key] = parsed.data;
  }
  return completed;
}

/** Keys of a check's definition that are merged one level deep. */
export const mergedInChecks = ['request', 'heartbeat', 'alertSettings'] as const;

/**
 * Merges a partial body into a stored definition: present keys replace stored values, absent keys keep them. The merged
 * keys are merged one level deep, so that a change of one setting need not repeat the others.
 */
export function mergeDefinition(
  stored: Readonly<Record<string, unknown>>,
  patch: Readonly<Record<string, unknown>>,
  mergedKeys: readonly string[] = mergedInChecks,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...stored, ...patch };
  for (const key of mergedKeys) {
    const [before, changes] = [stored[key], patch[key]];
    if (isRecord(before) && isRecord(changes)) merged[key] = { ...before, ...changes };
  }
  // An offset depends on its frequency: for a new frequency without a new offset, a valid offset is chosen again.
  const isFrequencyChanged = patch.frequency !== undefined && patch.frequency !== stored.frequency;
  if (isFrequencyChanged && patch.frequencyOffset === undefined) delete merged.frequencyOffset;
  return merged;
}

/** Returns the part of a definition that its runner needs. */
export function runnableSpec(
  type: CheckType,
  definition: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.keys(type.spec.shape).map((key) => [key, definition[key]]));
}

/** Name of a type in ids of schemas and operations: `UrlMonitor` for "URL monitor". */
export function pascalName({ title }: Pick<CheckType, 'title'>): string {
  const words = title.split(/[^A-Za-z]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('');
}
