import type { z } from 'zod';
import type { MaskedValue } from './masking.ts';

/** Problem with a field of a definition. */
export interface DefinitionProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Settings that groups can set for all their checks of a type, in addition to those for checks of any type. */
export interface GroupDefaults {
  /** The field of a group that holds them. */
  readonly field: string;
  /** An object whose fields all have defaults. */
  readonly schema: z.ZodObject;
  /** Fields of the group whose values API responses never show. */
  readonly masked: readonly MaskedValue[];
  /** Returns problems with defaults that are valid by their schema, by field. */
  problems?(defaults: Readonly<Record<string, unknown>>): readonly DefinitionProblem[];
  /** Applies the defaults of a check's group to its definition. */
  apply(
    definition: Readonly<Record<string, unknown>>,
    defaults: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
  /** Variables that the defaults give to the checks. */
  variables(defaults: Readonly<Record<string, unknown>>): Record<string, string>;
}
