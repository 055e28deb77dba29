import type { z } from 'zod';

/**
 * A schema that is made when it is first used. To make one takes about 15 µs, and there are thousands of them: a
 * process that made all at its start would spend a tenth of a second on schemas of which it uses few.
 */
export interface LazySchema<Schema extends z.ZodType = z.ZodType> {
  /** The schema; also for its type: `z.output<typeof Name.schema>`. */
  readonly schema: Schema;
  /** The fields of an object schema. */
  readonly shape: Schema extends z.ZodObject ? Schema['shape'] : never;
  /** @throws z.ZodError */
  parse(value: unknown): z.output<Schema>;
  safeParse(value: unknown): z.ZodSafeParseResult<z.output<Schema>>;
}

/** @param make makes the schema, with those that it refers to. It is called once. */
export function lazySchema<Schema extends z.ZodType>(make: () => Schema): LazySchema<Schema> {
  let made: Schema | undefined;
  const schema = () => {
    made ??= make();
    return made;
  };
  return {
    get schema() {
      return schema();
    },
    get shape() {
      return (schema() as unknown as z.ZodObject).shape as LazySchema<Schema>['shape'];
    },
    parse: (value) => schema().parse(value),
    safeParse: (value) => schema().safeParse(value),
  };
}
