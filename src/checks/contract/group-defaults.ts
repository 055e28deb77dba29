import type { z } from 'zod';
import type { MaskedValue } from './masking.ts';

/** What is wrong with a field of a definition. */
export interface DefinitionProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * What groups of checks can set for all their checks of a type, in addition to what they can set for any
 * check.
 */
export interface GroupDefaults {
  /** The field of a group that holds them. */
  readonly field: string;
  /** An object whose fields all have defaults. */
  readonly schema: z.ZodObject;
  /** Fields of the group whose values answers never show. */
  readonly masked: readonly MaskedValue[];
  /** What is wrong with defaults that are valid by their schema, by their own fields. */
  problems?(defaults: Readonly<Record<string, unknown>>): readonly DefinitionProblem[];
  /** A check's definition with the defaults of its group. */
  apply(
    definition: Readonly<Record<string, unknown>>,
    defaults: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
  /** Variables that the defaults give to the checks. */
  variables(defaults: Readonly<Record<string, unknown>>): Record<string, string>;
}
