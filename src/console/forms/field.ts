import { z } from 'zod';

type Schema = z.core.$ZodType;
export type Scalar = string | number | boolean;

/** How a value is shown and read. */
type Kind =
  | { readonly kind: 'text' | 'number' | 'switch' }
  /** One of several; nothing chosen is null, or absent where the schema has no null. */
  | { readonly kind: 'choice'; readonly options: readonly Scalar[] }
  /** Any of several. */
  | { readonly kind: 'set'; readonly options: readonly string[] }
  /** Texts, or numbers, of any number, one in a line. */
  | { readonly kind: 'list'; readonly isOfNumbers?: boolean }
  /** Objects of any number. */
  | { readonly kind: 'rows'; readonly fields: readonly Field[] }
  | { readonly kind: 'part'; readonly fields: readonly Field[] }
  /** An object, or one of some words (null is the empty one) in its place. */
  | { readonly kind: 'variant'; readonly fields: readonly Field[]; readonly words: readonly string[] }
  /** There is nothing to choose: it stays as it is. */
  | { readonly kind: 'fixed' }
  /** What has no form: its JSON. */
  | { readonly kind: 'json' };

/** One value of an object, as its schema describes it. */
export type Field = Kind & {
  readonly key: string;
  /** The path of its name, with `*` for the number of a row: what layouts call it. */
  readonly pattern: string;
  readonly isNullable: boolean;
  /** It may be absent, and is then not there. */
  readonly isOptional: boolean;
  /** It may be absent, and is then something else. */
  readonly hasDefault: boolean;
  /** Left empty it is absent, where it has a default. */
  readonly isDefaultWhenEmpty?: boolean;
  readonly description: string | undefined;
  /** What it is when nobody says anything. */
  readonly initial: unknown;
};

/** The word by which a variant says that its object is there. */
export const objectWord = 'object';

/** The fields of a schema, in its order. */
export function fieldsOf(shape: Readonly<Record<string, Schema>>, prefix = ''): Field[] {
  return Object.entries(shape).map(([key, schema]) => fieldOf(key, schema, `${prefix}${key}`));
}

function fieldOf(key: string, schema: Schema, pattern: string): Field {
  const { inner, ...rest } = unwrapped(schema);
  const initial = z.safeParse(schema, undefined).data;
  const kind = kindOf(inner, pattern, rest.isNullable);
  // Null has a meaning of its own only where it is not written for one of the two.
  const isSwitch = inner instanceof z.ZodBoolean && typeof initial === 'boolean';
  return { ...(isSwitch ? { kind: 'switch' } : kind), ...rest, key, pattern, initial };
}

/** A schema without what stands around it, and what that says. */
function unwrapped(schema: Schema) {
  let inner = schema;
  let [isNullable, isOptional, hasDefault] = [false, false, false];
  let description: string | undefined;
  for (;;) {
    description ??= z.globalRegistry.get(inner)?.description;
    if (inner instanceof z.ZodNullable) isNullable = true;
    else if (inner instanceof z.ZodOptional) isOptional = true;
    else if (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) hasDefault = true;
    // What is written into a codec, not what comes out of it.
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

/** Words alone are a choice; words and one object are a variant. A list of the same words says nothing new. */
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

/** The value that something new begins with: the defaults of its fields, as far as they have some. */
export function initialOf(shape: Readonly<Record<string, Schema>>): Record<string, unknown> {
  const entries = Object.entries(shape).flatMap(([key, schema]): [string, unknown][] => {
    const parsed = z.safeParse(schema, undefined);
    if (parsed.success) return parsed.data === undefined ? [] : [[key, parsed.data]];
    const { inner, isNullable } = unwrapped(schema);
    return inner instanceof z.ZodObject && !isNullable ? [[key, initialOf(inner.shape)]] : [];
  });
  return Object.fromEntries(entries);
}
