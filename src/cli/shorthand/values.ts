import { isRecord } from '@picket/lib/json/record.ts';
import { z } from 'zod';
import { wholeAssertion } from './assertions.ts';
import { durationMs, inUnitOf } from './durations.ts';
import { isPlainObject } from './field-names.ts';
import { bareSchema, shapeOf, textsOf } from './schema-shape.ts';

/**
 * A value in the form that its schema wants, where what is written can only mean that: `post` for POST, 200 for "200",
 * `{ X: y }` for a list of keys and values, one item for a list of one. Anything else stays, for the check of the schema.
 *
 * @param problems gets a line for each assertion that cannot be read.
 */
export function inFormOf(
  schema: z.ZodType,
  value: unknown,
  path: readonly string[],
  problems: string[],
): unknown {
  const bare = bareSchema(schema);
  if (value === null || value === undefined || (isRecord(value) && !isPlainObject(value))) return value;
  const texts = textsOf(bare);
  if (texts) return texts.find((text) => bareText(text) === bareText(value)) ?? value;
  if (bare instanceof z.ZodArray) return listOf(bare.element as z.ZodType, value, path, problems);
  if (bare instanceof z.ZodObject && isPlainObject(value)) {
    const shape = shapeOf(bare);
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => {
        const own = Object.hasOwn(shape, key) ? shape[key] : undefined;
        return [key, own ? inFormOf(own, child, [...path, key], problems) : child];
      }),
    );
  }
  if (bare instanceof z.ZodString && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value);
  if (bare instanceof z.ZodNumber) return numberOf(value, String(path.at(-1)));
  return value;
}

function numberOf(value: unknown, field: string): unknown {
  if (typeof value !== 'string') return value;
  const ms = durationMs(value);
  if (ms !== undefined) return inUnitOf(field, ms);
  return /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

function listOf(element: z.ZodType, value: unknown, path: readonly string[], problems: string[]): unknown[] {
  const shape = shapeOf(element);
  const isAssertions = 'source' in shape && 'comparison' in shape;
  const isOfPairs = 'key' in shape && 'value' in shape;
  const isMap = isOfPairs && isPlainObject(value) && !('key' in value);
  const items = isMap
    ? Object.entries(value).map(([key, one]) => ({ key, value: one }))
    : Array.isArray(value)
      ? value
      : [value];
  return items.map((item, index) => {
    const place = [...path, String(index)];
    const whole = isAssertions ? wholeAssertion(item, element) : { assertion: item };
    if ('assertion' in whole) return inFormOf(element, whole.assertion, place, problems);
    problems.push(`${place.join('.')}: ${whole.problem}`);
    return item;
  });
}

function bareText(value: unknown): string {
  return String(value)
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '');
}
