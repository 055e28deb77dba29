import { z } from 'zod';
import type { FailureCode } from '../contract/failure.ts';

/** All comparisons of assertions (check model 1.10); each check type accepts a subset. */
export const comparisons = [
  'EQUALS',
  'NOT_EQUALS',
  'HAS_KEY',
  'NOT_HAS_KEY',
  'HAS_VALUE',
  'NOT_HAS_VALUE',
  'IS_EMPTY',
  'NOT_EMPTY',
  'GREATER_THAN',
  'LESS_THAN',
  'CONTAINS',
  'NOT_CONTAINS',
  'IS_NULL',
  'NOT_NULL',
  'MATCHES_SCHEMA',
  'AGE_LESS_THAN',
  'AGE_GREATER_THAN',
] as const;
export type Comparison = (typeof comparisons)[number];
export const numericComparisons = ['EQUALS', 'NOT_EQUALS', 'GREATER_THAN', 'LESS_THAN'] as const;
/** Comparisons of texts, numbers and values that may be missing. */
export const valueComparisons = [
  'EQUALS',
  'NOT_EQUALS',
  'IS_EMPTY',
  'NOT_EMPTY',
  'LESS_THAN',
  'GREATER_THAN',
  'CONTAINS',
  'NOT_CONTAINS',
  'IS_NULL',
  'NOT_NULL',
] as const;

/** Beginning of the message of a failed assertion; the received value follows `receivedWords`. */
export const assertionWords = 'Assertion failed: ';
export const receivedWords = ', received ';

/** Returns the assertion schema of a check type with the given sources and comparisons. */
export function assertionSchema<
  const Source extends readonly [string, ...string[]],
  const Allowed extends readonly [Comparison, ...Comparison[]],
>(sources: Source, allowed: Allowed) {
  return z.object({
    source: z.enum(sources),
    property: z.string().default(''),
    comparison: z.enum(allowed),
    target: z.string().default(''),
    regex: z.string().nullable().default(''),
  });
}

/** An assertion of any type. */
export interface Assertion {
  readonly source: string;
  readonly property: string;
  readonly comparison: Comparison;
  readonly target: string;
  readonly regex: string | null;
}

export const failureCode = Symbol('failureCode');

/** An evaluated assertion: the value found, and why the assertion failed (null if it holds). */
export const EvaluatedAssertion = z
  .object({
    source: z.string(),
    property: z.string(),
    comparison: z.string(),
    target: z.union([z.string(), z.number()]),
    regex: z.string().nullable(),
    actual: z.unknown(),
    error: z.string().nullable(),
  })
  .meta({ id: 'EvaluatedAssertion' });
export type EvaluatedAssertion = z.infer<typeof EvaluatedAssertion> & {
  /** Failure code of the run, if not ASSERTION_FAILED; not part of the result. */
  readonly [failureCode]?: FailureCode;
};
