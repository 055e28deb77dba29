import { z } from 'zod';

export const stepStates = ['DONE', 'FAILED', 'NOT_REACHED'] as const;

/** Timeout of a step that sets none. */
export const usualStepTimeoutMs = 5000;

/** @param types of the steps that wait. */
export function stepTimeout(types: string, maxMs: number) {
  return z
    .int()
    .min(1)
    .max(maxMs)
    .nullable()
    .default(null)
    .describe(`${types}: timeout in milliseconds; null: ${usualStepTimeoutMs}`);
}

/** @param whatMatches such as `EXPECT: regular expression for the line`. */
export function stepRegex(whatMatches: string) {
  return z
    .string()
    .max(10_000)
    .default('')
    .describe(`${whatMatches}; later steps can use its named groups as {{NAME}}`);
}
