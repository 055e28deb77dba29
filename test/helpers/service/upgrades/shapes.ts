import { createHash } from 'node:crypto';
import { z } from 'zod';
import { checkTypes } from '../../../../src/checks/index.ts';
import { LazySchema } from '../../../../src/lib/schemas/lazy-schema.ts';
import { features } from '../../../../src/server/features.ts';
// Loads every reader of a column.
import '../../../../src/server/compose.ts';
import { migrations } from '../../../../src/platform/store/schema/migrations.ts';
import { storedColumns } from '../../../../src/platform/store/stored-json.ts';

/** Digests of the shapes that a build stores: a migration, a JSON column, the detail of a check type. */
export type Shapes = Readonly<Record<string, string>>;

/** The shapes of this build. They are equal in two builds whose rows have the same fields. */
export function shapesOfThisBuild(): Shapes {
  const shapes = new Map<string, unknown[]>();
  const add = (name: string, shape: unknown) => {
    shapes.set(name, [...(shapes.get(name) ?? []), shape]);
  };
  for (const { column, schema } of storedColumns) {
    const made = schema instanceof LazySchema ? schema.schema : schema;
    add(column, made instanceof z.core.$ZodType ? fieldsOf(made) : made);
  }
  for (const { name, detail } of checkTypes) add(`results.detail of ${name}`, fieldsOf(detail));
  for (const { name, statements } of [
    ...migrations,
    ...features.flatMap((feature) => feature.migrations ?? []),
  ])
    add(name, statements);
  return Object.fromEntries(
    [...shapes].map(([name, all]) => [name, digestOf(all.map((one) => JSON.stringify(one)).toSorted())]),
  );
}

/** Describes the differences between two builds. */
export function differences(recorded: Shapes, present: Shapes): string[] {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(present)])].toSorted();
  return names.flatMap((name) => {
    if (recorded[name] === present[name]) return [];
    if (recorded[name] === undefined) return [`${name} is new`];
    return [`${name} ${present[name] === undefined ? 'is gone' : 'has other fields'}`];
  });
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

/** Names, kinds and defaults of fields: descriptions and limits do not affect stored rows. */
function fieldsOf(schema: z.core.$ZodType): unknown {
  return onlyFields(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', reused: 'inline' }));
}

const kept = new Set(['type', 'required', 'default', 'const', '$ref']);
const nested = new Set(['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems']);
const named = new Set(['properties', '$defs']);

function onlyFields(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(onlyFields);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if (kept.has(key)) return [[key, value]];
      if (nested.has(key)) return [[key, onlyFields(value)]];
      if (!named.has(key)) return [];
      const fields = Object.entries(value as object).map(
        ([name, field]) => [name, onlyFields(field)] as const,
      );
      return [[key, Object.fromEntries(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))]];
    }),
  );
}
