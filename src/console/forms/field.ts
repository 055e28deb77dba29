import { z } from 'zod';

type Schema = z.core.$ZodType;
export type Scalar = string | number | boolean;

/** How a value is shown and parsed. */
type Kind =
  | { readonly kind: 'text' | 'number' | 'switch' }
  /** One of several; no selection is null, or absent if the schema has no null. */
  | { readonly kind: 'choice'; readonly options: readonly Scalar[] }
  /** Any of several. */
  | { readonly kind: 'set'; readonly options: readonly string[] }
  /** Any number of texts or numbers, one per line. */
  | { readonly kind: 'list'; readonly isOfNumbers?: boolean }
  /** Any number of objects. */
  | { readonly kind: 'rows'; readonly fields: readonly Field[] }
  | { readonly kind: 'part'; readonly fields: readonly Field[] }
  /** An object, or one of several words in its place (null is the empty word). */
  | {
      readonly kind: 'variant';
      readonly fields: readonly Field[];
      readonly words: readonly string[];
      /** A choice of the object, whose options stand for the object: one input picks both. */
      readonly pick?: Field | undefined;
    }
  /** Has no alternatives: stays unchanged. */
  | { readonly kind: 'fixed' }
  /** Values without a form: shown as JSON. */
  | { readonly kind: 'json' };

/** One value of an object, as described by its schema. */
export type Field = Kind & {
  readonly key: string;
  /** The path of its name, with `*` for row numbers: the key in layouts. */
  readonly pattern: string;
  readonly isNullable: boolean;
  /** May be absent, without a replacement. */
  readonly isOptional: boolean;
  /** May be absent, and is then replaced by a default. */
  readonly hasDefault: boolean;
  /** If left empty it is absent, given that it has a default. */
  readonly isDefaultWhenEmpty?: boolean;
  readonly description: string | undefined;
  /** Value without input. */
  readonly initial: unknown;
};

/** The word of a variant for a present object. */
export const objectWord = 'object';

/** Whether the input of a variant has the object. */
export function hasObject({ pick }: Field & { readonly kind: 'variant' }, text: string): boolean {
  if (pick?.kind !== 'choice') return text === objectWord;
  return pick.options.some((option) => String(option) === text);
}

/** Returns the fields of a schema, in its order. */
export function fieldsOf(shape: Readonly<Record<string, Schema>>, prefix = ''): Field[] {
  return Object.entries(shape).map(([key, schema]) => fieldOf(key, schema, `${prefix}${key}`));
}

function fieldOf(key: string, schema: Schema, pattern: string): Field {
  const { inner, ...rest } = unwrapped(schema);
  const initial = z.safeParse(schema, undefined).data;
  const kind = kindOf(inner, pattern, rest.isNullable);
  // A boolean with a boolean default is a switch, even if it may be null.
  const isSwitch = inner instanceof z.ZodBoolean && typeof initial === 'boolean';
  return { ...(isSwitch ? { kind: 'switch' } : kind), ...rest, key, pattern, initial };
}

/** Unwraps a schema and collects the properties of its wrappers. */
function unwrapped(schema: Schema) {
  let inner = schema;
  let [isNullable, isOptional, hasDefault] = [false, false, false];
  let description: string | undefined;
  for (;;) {
    description ??= z.globalRegistry.get(inner)?.description;
    if (inner instanceof z.ZodNullable) isNullable = true;
    else if (inner instanceof z.ZodOptional) isOptional = true;
    else if (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) hasDefault = true;
    // The input of a codec, not its output.
    else if (inner instanceof z.ZodPipe) {
      inner = inner.in;
      continue;
    } else return { inner, isNullable, isOptional, hasDefault, description };
    inner = (inner as z.ZodNullable).unwrap();
  }
}

function kindOf(schema: Schema, pattern: string, isNullable: boolean): Kind {
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat) return { kind: 'text' };
  if (schema instanceof z.ZodNumber) return { kind: 'number' };
  if (schema instanceof z.ZodBoolean) {
    return isNullable ? { kind: 'choice', options: [true, false] } : { kind: 'switch' };
  }
  if (schema instanceof z.ZodEnum) return { kind: 'choice', options: schema.options };
  if (schema instanceof z.ZodNull) return { kind: 'fixed' };
  if (schema instanceof z.ZodLiteral) {
    const options = literalsOf(schema);
    return options.length > 1 || isNullable ? { kind: 'choice', options } : { kind: 'fixed' };
  }
  if (schema instanceof z.ZodObject) {
    const fields = fieldsOf(schema.shape, `${pattern}.`);
    return isNullable ? { kind: 'variant', fields, words: [''] } : { kind: 'part', fields };
  }
  if (schema instanceof z.ZodArray) return listKind(unwrapped(schema.element).inner, pattern);
  if (schema instanceof z.ZodUnion) return unionKind(schema.options, pattern, isNullable);
  return { kind: 'json' };
}

function literalsOf(schema: z.ZodLiteral): Scalar[] {
  return [...schema.values].filter((value): value is Scalar => typeof value !== 'bigint' && value != null);
}

function listKind(element: Schema, pattern: string): Kind {
  if (element instanceof z.ZodEnum) return { kind: 'set', options: element.options.map(String) };
  if (element instanceof z.ZodLiteral) return { kind: 'set', options: literalsOf(element).map(String) };
  if (element instanceof z.ZodString || element instanceof z.ZodStringFormat) return { kind: 'list' };
  if (element instanceof z.ZodNumber) return { kind: 'list', isOfNumbers: true };
  if (element instanceof z.ZodObject) {
    return { kind: 'rows', fields: fieldsOf(element.shape, `${pattern}.*.`) };
  }
  return { kind: 'json' };
}

/** Words alone are a choice; words and one object are a variant. A list of the same words adds nothing. */
function unionKind(branches: readonly Schema[], pattern: string, isNullable: boolean): Kind {
  const inners = branches.map((branch) => unwrapped(branch).inner);
  const words = inners.flatMap((inner) => (inner instanceof z.ZodLiteral ? literalsOf(inner) : []));
  const objects = inners.filter((inner) => inner instanceof z.ZodObject);
  const others = inners.filter(
    (inner) =>
      !(inner instanceof z.ZodLiteral || inner instanceof z.ZodObject || isListOfWords(inner, words)),
  );
  const [object] = objects;
  if (others.length > 0 || objects.length > 1) return { kind: 'json' };
  if (!object) return { kind: 'choice', options: words };
  return {
    kind: 'variant',
    fields: fieldsOf(object.shape, `${pattern}.`),
    words: [...(isNullable ? [''] : []), ...words.map(String)],
  };
}

function isListOfWords(schema: Schema, words: readonly Scalar[]): boolean {
  if (!(schema instanceof z.ZodArray)) return false;
  const element = unwrapped(schema.element).inner;
  return element instanceof z.ZodLiteral && literalsOf(element).every((word) => words.includes(word));
}

/** Returns the initial value of a new object: the defaults of its fields, as far as defined. */
export function initialOf(shape: Readonly<Record<string, Schema>>): Record<string, unknown> {
  const entries = Object.entries(shape).flatMap(([key, schema]): [string, unknown][] => {
    const parsed = z.safeParse(schema, undefined);
    if (parsed.success) return parsed.data === undefined ? [] : [[key, parsed.data]];
    const { inner, isNullable } = unwrapped(schema);
    return inner instanceof z.ZodObject && !isNullable ? [[key, initialOf(inner.shape)]] : [];
  });
  return Object.fromEntries(entries);
}
