import type { z } from 'zod';

/**
 * A schema that is made when it is first used, with those that it refers to. A process uses few of its thousands of
 * schemas, and each takes about 15 µs to make, and 1.5 kB.
 */
export class LazySchema<Schema extends z.ZodType = z.ZodType> {
  readonly #make: () => Schema;
  #made: Schema | undefined;

  /** @param make is called once. */
  constructor(make: () => Schema) {
    this.#make = make;
  }

  /** The schema; also for its type: `z.output<typeof Name.schema>`. */
  get schema(): Schema {
    this.#made ??= this.#make();
    return this.#made;
  }

  /** The fields of an object schema. */
  get shape(): Schema extends z.ZodObject ? Schema['shape'] : never {
    return (this.schema as unknown as z.ZodObject).shape as typeof this.shape;
  }

  /** @throws z.ZodError */
  parse(value: unknown): z.output<Schema> {
    return this.schema.parse(value);
  }

  safeParse(value: unknown): z.ZodSafeParseResult<z.output<Schema>> {
    return this.schema.safeParse(value);
  }
}

/** Declares a schema that is made when it is first used. */
export function lazySchema<Schema extends z.ZodType>(make: () => Schema): LazySchema<Schema> {
  return new LazySchema(make);
}
