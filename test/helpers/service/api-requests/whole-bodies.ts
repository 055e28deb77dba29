import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { z } from 'zod';
import { valuesOf } from './schema-values.ts';

type Body = Readonly<Record<string, unknown>>;

/** Number of values of a field that are tried; the one with the most fields is used. */
const tries = 120;

/**
 * A body with every field of a schema, none of them at its default. Known values for rules that no schema expresses
 * take precedence over derived ones, so that a new field is included automatically.
 *
 * @param variant 2: every field that has more than one value differs from variant 1.
 * @throws Error if no value is found for a field, or the whole is invalid.
 */
export function wholeBody(schema: z.ZodObject, variant: 1 | 2, known: Body): Body {
  const derived = Object.entries(schema.shape).flatMap(([name, field]) =>
    name in known ? [] : [[name, derivedValue(name, field as z.ZodType, variant)] as const],
  );
  const body = { ...Object.fromEntries(derived), ...known };
  const { error } = schema.safeParse(body);
  if (error) throw new Error(`${error.message} of ${JSON.stringify(body)}`);
  return body;
}

function derivedValue(name: string, field: z.ZodType, variant: 1 | 2): unknown {
  const standard = field.safeParse(undefined).data;
  const values = fc
    .sample(valuesOf(field), { numRuns: tries, seed: 20_261_123 })
    .filter((value) => value !== undefined && value !== null && field.safeParse(value).success)
    .toSorted((left, right) => leaves(right) - leaves(left));
  const [first, ...others] = values.filter((value) => !isDeepStrictEqual(value, standard));
  if (first === undefined) throw new Error(`no value was found for "${name}": say one`);
  if (variant === 1) return first;
  const other = others.find((value) => !isDeepStrictEqual(value, first));
  return other === undefined ? standard : other;
}

/** Number of values in a value; long texts do not count, as they add no more than short ones. */
function leaves(value: unknown): number {
  if (typeof value === 'string') return value === '' || value.length > 100 ? 0 : 1;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + leaves(one), 0);
}
