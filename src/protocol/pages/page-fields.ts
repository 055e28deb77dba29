import { z } from 'zod';

/** The subdomain under the service's own domain that a page is shown at; the same in upper and lower case. */
export const PageUrl = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
    'must be 1 to 63 letters, digits or dashes, and neither begin nor end with a dash',
  );

/** A host name of the account's own that a page is shown at; "" is none, as clients that know no null send it. */
export const CustomDomain = z
  .string()
  .max(253)
  .regex(
    /^(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
    'must be a host name such as status.example.com',
  );

/** An address that pages show or link to: never `javascript:` and the like. */
export const WebUrl = z
  .string()
  .max(2048)
  .regex(/^(?:https?:\/\/\S+)?$/, 'must start with http:// or https://');

/** A key of a private page. */
export const PageKey = z.object({
  id: z.string(),
  rawKey: z.string().describe('In full only in the answer that creates the key, masked afterwards'),
  maskedKey: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable(),
});
export type PageKey = z.output<typeof PageKey>;

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
