import { z } from 'zod';

type Bare<Field> = Field extends z.ZodDefault<infer Inner> ? Inner : Field;
type PatchShape<Shape extends z.ZodRawShape> = {
  [Key in keyof Shape]: z.ZodOptional<Extract<Bare<Shape[Key]>, z.core.SomeType>>;
};

/** The fields of an object as a partial update names them: none required, none with a default. */
export function patchOf<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<PatchShape<Shape>> {
  const fields = Object.entries(shape).map(([name, field]) => {
    const inner = field instanceof z.ZodDefault ? field.unwrap() : field;
    return [name, z.optional(inner)];
  });
  return z.object(Object.fromEntries(fields)) as unknown as z.ZodObject<PatchShape<Shape>>;
}
