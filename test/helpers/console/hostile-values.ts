import { z } from 'zod';
import { minimalOf } from '../service/minimal-value.ts';

type Json = Record<string, unknown>;
export type Path = readonly (string | number)[];

/** A value with every field of a schema; each text field contains a text of ours. */
export function wholeOf(schema: z.ZodType, textOf: (maxLength: number) => string): unknown {
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Json;
  const definitions = (document['$defs'] ?? {}) as Record<string, Json>;
  let value = build(document, 0);
  // Rules that JSON Schema cannot express: fields that they refuse are removed or made as small as possible.
  for (let round = 0; round < 40; round += 1) {
    const read = schema.safeParse(value);
    if (read.success) return value;
    for (const { path } of read.error.issues) {
      const smallest = valueAt(minimalOf(schema), path as Path);
      value = withValueAt(value, path as Path, round < 20 ? undefined : smallest);
    }
  }
  return minimalOf(schema);

  function build(given: Json, depth: number): unknown {
    const at =
      typeof given['$ref'] === 'string' ? definitions[String(given['$ref']).split('/').at(-1) ?? ''] : given;
    if (!at || depth > 12) return null;
    const any = (at['anyOf'] ?? at['oneOf']) as Json[] | undefined;
    if (any) return build(any.find((one) => one['type'] !== 'null') ?? {}, depth);
    if ('const' in at) return at['const'];
    if (Array.isArray(at['enum'])) return at['enum'][0];
    switch (at['type']) {
      case 'object': {
        const properties = Object.entries((at['properties'] ?? {}) as Record<string, Json>);
        const own = Object.fromEntries(properties.map(([key, child]) => [key, build(child, depth + 1)]));
        const others = at['additionalProperties'];
        const isMap = typeof others === 'object' && others !== null && properties.length === 0;
        return isMap ? { [textOf(60)]: build(others as Json, depth + 1) } : own;
      }
      case 'array':
        return Array.from({ length: Math.max(1, Number(at['minItems'] ?? 0)) }, () =>
          build((at['items'] ?? {}) as Json, depth + 1),
        );
      case 'integer':
      case 'number':
        return Math.max(Number(at['minimum'] ?? 0), 0);
      case 'boolean':
        return false;
      case 'string':
        return guesses[String(at['format'])] ?? textOf(Number(at['maxLength'] ?? 6_000));
      default:
        return textOf(6_000);
    }
  }
}

const guesses: Readonly<Record<string, string>> = {
  uuid: '00000000-0000-4000-8000-000000000000',
  'date-time': '2026-11-22T12:00:00Z',
};

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], value);
}

/** Returns the value with one place changed; `undefined` removes it. */
export function withValueAt(value: unknown, path: Path, changed: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return changed;
  if (Array.isArray(value)) {
    const copy: unknown[] = [...value];
    const inner = withValueAt(copy[Number(key)], rest, changed);
    if (inner === undefined) copy.splice(Number(key), 1);
    else copy[Number(key)] = inner;
    return copy;
  }
  if (typeof value !== 'object' || value === null) return value;
  const { [key]: before, ...others } = value as Json;
  const inner = withValueAt(before, rest, changed);
  return inner === undefined ? others : { ...others, [key]: inner };
}
