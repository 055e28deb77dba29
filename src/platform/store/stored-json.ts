import { channel } from 'node:diagnostics_channel';
import { toError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { LazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/** A stored value that is not JSON, or not of the kind that its column holds. */
export interface UnreadableValue {
  /** `alert_channels.definition`. */
  readonly column: string;
  readonly reason: string;
}

/** Publishes every unreadable value: `publish(UnreadableValue)`. */
export const unreadableValues = channel('picket:unreadable-stored-value');

/** Every column read here, with its schema or its defaults for missing fields. */
export const storedColumns: {
  readonly column: string;
  readonly schema: z.ZodType | LazySchema | object;
}[] = [];

/** Fills missing fields of a value and leaves everything else unchanged. */
type Fill = (value: unknown) => unknown;

/**
 * Reads a JSON column with a schema; no other code does. Fields missing in an older row get the defaults of the schema,
 * in nested objects too. Stored values are not validated again: a value that was valid when written must stay readable.
 * An unreadable value is reported and counts as empty, so that one broken row hides no other.
 *
 * It costs a walk over the fields of the schema, a small part of the cost of parsing the text.
 *
 * @param schema of the whole column: an object, a list, or a record; nullable if a row may hold `null`, which then also
 *   replaces an unreadable value.
 */
export function storedJson<Schema extends z.ZodType>(
  column: string,
  schema: Schema | LazySchema<Schema>,
): (text: string) => z.output<Schema> {
  storedColumns.push({ column, schema });
  let read: ((text: string) => unknown) | undefined;
  return (text) => {
    read ??= readerOf(column, schema instanceof LazySchema ? schema.schema : schema);
    return read(text) as z.output<Schema>;
  };
}

function readerOf(column: string, schema: z.ZodType): (text: string) => unknown {
  const fill = fillOf(schema);
  const isNullable = schema instanceof z.ZodNullable;
  const isList = (isNullable ? schema.unwrap() : schema) instanceof z.ZodArray;
  const empty = () => (isNullable ? null : isList ? [] : {});
  return (text) => {
    if (isNullable && text === 'null') return null;
    return fill(readKind(column, text, isList) ?? empty());
  };
}

/**
 * The same for internal values without a schema: missing fields are taken from `empty`.
 *
 * @param empty an object with the fields that older builds did not store, or a list.
 */
export function storedValue<Value extends object>(column: string, empty: Value): (text: string) => Value {
  storedColumns.push({ column, schema: empty });
  const isList = Array.isArray(empty);
  const absents = Object.entries(empty);
  return (text) => {
    const value = readKind(column, text, isList);
    if (isList) return (value ?? empty) as Value;
    const filled = (value ?? {}) as Record<string, unknown>;
    for (const [key, absent] of absents) if (filled[key] === undefined) filled[key] = structuredClone(absent);
    return filled as Value;
  };
}

/** Fills the missing fields of a stored value with the defaults of a schema. */
export function withDefaults<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  return fillOf(schema)(value) as z.output<Schema>;
}

/** Parses an object or a list; reports any other text and returns undefined. */
function readKind(column: string, text: string, isList: boolean): object | undefined {
  let reason = `is no JSON ${isList ? 'list' : 'object'}`;
  try {
    const value: unknown = JSON.parse(text);
    if (isList ? Array.isArray(value) : isRecord(value)) return value as object;
  } catch (thrown) {
    reason = toError(thrown).message.slice(0, 200);
  }
  unreadableValues.publish({ column, reason } satisfies UnreadableValue);
  return undefined;
}

const fills = new WeakMap<z.core.$ZodType, Fill>();

/** Returns the fill function of a schema; created when the first value is read. */
export function fillOf(schema: z.core.$ZodType): Fill {
  const known = fills.get(schema);
  if (known) return known;
  // A schema may contain itself.
  let made: Fill | undefined;
  const later: Fill = (value) => (made ?? keep)(value);
  fills.set(schema, later);
  made = makeFill(schema);
  fills.set(schema, made);
  return made;
}

const keep: Fill = (value) => value;

function makeFill(schema: z.core.$ZodType): Fill {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return orElse(() => ({}), objectFill(def.shape));
    case 'array':
      return orElse(() => [], listFill(fillOf(def.element)));
    case 'record':
      return orElse(() => ({}), recordFill(fillOf(def.valueType)));
    case 'string':
      return orElse(() => '', keep);
    case 'number':
      return orElse(() => 0, keep);
    case 'boolean':
      return orElse(() => false, keep);
    case 'enum':
      return orElse(() => Object.values(def.entries)[0], keep);
    case 'literal':
      return orElse(() => def.values[0], keep);
    case 'default':
    case 'prefault': {
      const inner = fillOf(def.innerType);
      return (value) => (value === undefined ? defaultOf(schema) : inner(value));
    }
    case 'optional':
    case 'nullable':
    case 'readonly':
    case 'nonoptional':
    case 'catch':
      return absentStays(fillOf(def.innerType));
    case 'lazy':
      return (value) => fillOf(def.getter())(value);
    // Stored values are already transformed: their fields are those of one of the two sides.
    case 'pipe':
      return fillOf(def.in._zod.def.type === 'transform' ? def.out : def.in);
    case 'union':
      return unionFill(def.options);
    case 'intersection': {
      const [left, right] = [fillOf(def.left), fillOf(def.right)];
      return (value) => right(left(value));
    }
    default:
      return keep;
  }
}

/** Replaces a missing required field of a broken row by an empty value, so that no reader fails. */
const orElse =
  (empty: () => unknown, fill: Fill): Fill =>
  (value) =>
    fill(value === undefined ? empty() : value);

const absentStays =
  (fill: Fill): Fill =>
  (value) =>
    value === undefined || value === null ? value : fill(value);

/** Scalars are shared; mutable defaults are copied. */
function defaultOf(schema: z.core.$ZodType): unknown {
  const value = z.safeParse(schema, undefined).data;
  return typeof value === 'object' && value !== null ? structuredClone(value) : value;
}

function objectFill(shape: Readonly<Record<string, z.core.$ZodType>>): Fill {
  const fields = Object.entries(shape).flatMap(([key, field]) => {
    const fill = fillOf(field);
    return fill === keep ? [] : [[key, fill] as const];
  });
  if (fields.length === 0) return keep;
  return (value) => {
    if (!isRecord(value)) return value;
    for (const [key, fill] of fields) {
      const before = value[key];
      const after = fill(before);
      if (after !== before) value[key] = after;
    }
    return value;
  };
}

function listFill(fill: Fill): Fill {
  if (fill === keep) return keep;
  return (value) => (Array.isArray(value) ? value.map(fill) : value);
}

function recordFill(fill: Fill): Fill {
  if (fill === keep) return keep;
  return (value) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one)])) : value;
}

/** Picks the alternative by its fixed texts: `type`, `checkType`. */
function unionFill(options: readonly z.core.$ZodType[]): Fill {
  const ways = options.map((option) => ({ isOf: fixedFields(option), fill: fillOf(option) }));
  if (ways.every(({ fill }) => fill === keep)) return keep;
  return (value) => (isRecord(value) ? (ways.find(({ isOf }) => isOf(value))?.fill(value) ?? value) : value);
}

function fixedFields(option: z.core.$ZodType): (value: Record<string, unknown>) => boolean {
  const { def } = (option as z.core.$ZodTypes)._zod;
  if (def.type !== 'object') return () => false;
  const fixed = Object.entries(def.shape).flatMap(([key, field]) => {
    const own = (field as z.core.$ZodTypes)._zod.def;
    return own.type === 'literal' ? [[key, own.values as readonly unknown[]] as const] : [];
  });
  return (value) => fixed.every(([key, values]) => values.includes(value[key]));
}
