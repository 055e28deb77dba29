import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

/** The JSON Schema of a schema, without parts that do not help a reader. */
export function schemaOf(schema: z.ZodType, direction: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...generated } = z.toJSONSchema(schema, {
    io: direction,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  }) as JsonSchema;
  return withoutName(generated);
}

/** A named schema is a reference to a definition; its fields must be at the top level. */
function withoutName(generated: JsonSchema): JsonSchema {
  const { $ref: reference, $defs: definitions, ...rest } = generated;
  if (typeof reference !== 'string') return generated;
  const { [reference.replace('#/$defs/', '')]: own, ...others } = definitions as Record<string, JsonSchema>;
  return { ...own, ...rest, ...(Object.keys(others).length > 0 ? { $defs: others } : {}) };
}
