import { isRecord } from '@picket/lib/json/record.ts';
import { z } from 'zod';
import type { CheckType } from '../check-type.ts';
import { offsetProblem } from '../frequency.ts';
import type { MaskedValue } from '../masking.ts';
import { CommonFields, maskedInCommon } from './common-fields.ts';

/** A whole check of some type as it is written and stored: the common fields and the type's own. */
export type CheckDefinition = CommonFields & Record<string, unknown>;

/**
 * The schema of a whole check of one type: common fields, the type's own fields and the rules between fields
 * (spec.md: `frequencyOffset` rules; check model 1.1, 2.1). Unknown keys are dropped. Serves POST as it is
 * and PUT after merging the body into the stored definition.
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
      // Rules between the type's own fields do not come along with its shape; they need fields that are valid
      // alone.
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

/** What answers do not show of checks of a type. */
export function maskedValues(type: CheckType | undefined): readonly MaskedValue[] {
  return [...maskedInCommon, ...(type?.masked ?? [])];
}

/**
 * A stored definition as this build writes them: fields that are newer than the check have their defaults, in
 * nested objects too. A field whose value this build does not accept stays as it is.
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

/** The keys of a check's definition that are merged one level deep. */
export const mergedInChecks = ['request', 'heartbeat', 'alertSettings'] as const;

/**
 * A partial body merged into a stored definition: a key that is present replaces the stored value, absent
 * keys keep theirs. The merged keys are merged one level deep, so that changing one of their settings does
 * not need all the others.
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
  // An offset belongs to its frequency: with a new frequency and no new offset, a fitting one is chosen
  // again.
  const isFrequencyChanged = patch.frequency !== undefined && patch.frequency !== stored.frequency;
  if (isFrequencyChanged && patch.frequencyOffset === undefined) delete merged.frequencyOffset;
  return merged;
}

/** The part of a definition that its runner needs. */
export function runnableSpec(
  type: CheckType,
  definition: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.keys(type.spec.shape).map((key) => [key, definition[key]]));
}

/** The name of a type in ids of schemas and operations: `UrlMonitor` of "URL monitor". */
export function pascalName({ title }: Pick<CheckType, 'title'>): string {
  const words = title.split(/[^A-Za-z]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('');
}
