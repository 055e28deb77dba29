import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { z } from 'zod';
import { valuesOf } from './schema-values.ts';

type Body = Readonly<Record<string, unknown>>;

/** How many values of a field are tried, the fullest of which is taken. */
const tries = 120;

/**
 * A body with every field of a schema, none of them its default. What is known of fields by rules that no schema tells
 * goes before what is derived, so that a field that is new is in the body without anybody adding it.
 *
 * @param variant 2: every field has another value than with 1, where it has more than one.
 * @throws Error naming a field that no value was found for, or what is wrong with the whole.
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

/** How many values there are in a value; long texts count as none, as they say no more than short ones. */
function leaves(value: unknown): number {
  if (typeof value === 'string') return value === '' || value.length > 100 ? 0 : 1;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + leaves(one), 0);
}
