import { z } from 'zod';

/** The input schema without the wrappers for defaults, null and absence. */
export function bareSchema(schema: z.ZodType): z.ZodType {
  let bare = schema;
  for (;;) {
    if (bare instanceof z.ZodPipe) bare = bare.in as z.ZodType;
    else if (
      bare instanceof z.ZodOptional ||
      bare instanceof z.ZodNullable ||
      bare instanceof z.ZodDefault ||
      bare instanceof z.ZodPrefault ||
      bare instanceof z.ZodReadonly ||
      bare instanceof z.ZodLazy
    ) {
      bare = bare.unwrap() as z.ZodType;
    } else return bare;
  }
}

/** The fields of an object; empty for any other schema. */
export function shapeOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  const bare = schema && bareSchema(schema);
  return bare instanceof z.ZodObject ? (bare.shape as Record<string, z.ZodType>) : {};
}

/** The texts that an enumeration or a literal allows; undefined for any other schema. */
export function textsOf(schema: z.ZodType): readonly string[] | undefined {
  const bare = bareSchema(schema);
  const values =
    bare instanceof z.ZodEnum ? bare.options : bare instanceof z.ZodLiteral ? [...bare.values] : [];
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length > 0 ? texts : undefined;
}
