import { isRecord } from '@picket/lib/json/record.ts';
import { z } from 'zod';

/** Part of a response that violates its schema. */
export interface OddAnswer {
  /** The path of the route. */
  readonly route: string;
  /** Its place and the reason: `0.name: Too small`. */
  readonly where: string;
}

/**
 * Encodes a response as JSON, limited to the fields of its schema. A value that violates the schema is sent as stored:
 * a row of an older build, written under other rules, must not make its whole list unreadable. Missing values get their
 * default, or null. Reports each violation to `onOdd`.
 */
export function encodeAnswer(schema: z.ZodType, data: unknown, onOdd: (where: string) => void): string {
  const encoded = z.safeEncode(schema, data as never);
  if (encoded.success) return JSON.stringify(encoded.data);
  const [issue] = encoded.error.issues;
  // A missing response is not the fault of a stored row.
  if (typeof data !== 'object' || data === null) throw encoded.error;
  onOdd(`${issue?.path.join('.')}: ${issue?.message}`);
  return JSON.stringify(shown(schema, data));
}

function shown(schema: z.core.$ZodType, value: unknown): unknown {
  const encoded = z.safeEncode(schema, value as never);
  if (encoded.success) return encoded.data;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return isRecord(value) ? shownObject(def, value) : null;
    case 'array':
      return Array.isArray(value) ? value.map((one) => shown(def.element, one)) : [];
    case 'record':
      return isRecord(value)
        ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(def.valueType, one)]))
        : {};
    case 'default':
    case 'prefault':
      return value === undefined ? z.safeParse(schema, undefined).data : shown(def.innerType, value);
    case 'optional':
    case 'nullable':
    case 'readonly':
    case 'nonoptional':
    case 'catch':
      return value === undefined || value === null ? value : shown(def.innerType, value);
    case 'lazy':
      return shown(def.getter(), value);
    case 'pipe':
      return shown(def.in, value);
    case 'union':
      return shownUnion(def.options, value);
    default:
      return plain(value);
  }
}

function shownObject(
  def: { readonly shape: z.core.$ZodShape; readonly catchall?: z.core.$ZodType | undefined },
  value: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const named = Object.entries(def.shape).flatMap(([key, field]) => {
    const one = shown(field, value[key]);
    if (one !== undefined) return [[key, one] as const];
    return field._zod.optin === 'optional' && field._zod.optout === 'optional' ? [] : [[key, null] as const];
  });
  const isLoose = def.catchall !== undefined && def.catchall._zod.def.type !== 'never';
  const others = isLoose ? Object.entries(value).filter(([key]) => !(key in def.shape)) : [];
  return Object.fromEntries([...named, ...others]);
}

/** Picks the alternative whose fixed fields match the value: `type`, `checkType`. */
function shownUnion(options: readonly z.core.$ZodType[], value: unknown): unknown {
  if (!isRecord(value)) return plain(value);
  const fitting = options.find((option) => {
    const { def } = (option as z.core.$ZodTypes)._zod;
    if (def.type !== 'object') return false;
    return Object.entries(def.shape).every(([key, field]) => {
      const own = (field as z.core.$ZodTypes)._zod.def;
      return own.type !== 'literal' || own.values.includes(value[key] as never);
    });
  });
  return fitting ? shown(fitting, value) : null;
}

/** Hides values that no field of the schema describes, since they may contain secrets. */
function plain(value: unknown): unknown {
  return typeof value === 'object' ? null : (value ?? null);
}
