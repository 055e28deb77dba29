import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { z } from 'zod';

type Json = Record<string, unknown>;

const maxItems = 3;
const maxDepth = 5;
/** Texts are mostly short, and sometimes as long as allowed. */
const maxUsualLength = 40;

/** Values that a schema accepts as input according to its JSON Schema; the caller handles rules beyond that. */
export function valuesOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Json;
  return build(document, (document.$defs ?? {}) as Record<string, Json>, 0);
}

function build(schema: Json, definitions: Record<string, Json>, depth: number): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') {
    return build(definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {}, definitions, depth);
  }
  const any = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (any) return fc.oneof(...any.map((branch) => build(branch, definitions, depth)));
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'object':
      return objects(schema, definitions, depth);
    case 'array': {
      const minLength = Number(schema.minItems ?? 0);
      const maxLength =
        depth > maxDepth ? minLength : Math.min(Number(schema.maxItems ?? maxItems), maxItems);
      const item = build((schema.items ?? {}) as Json, definitions, depth + 1);
      return fc.array(item, { minLength, maxLength: Math.max(minLength, maxLength) });
    }
    case 'integer': {
      const { min, max } = bounds(schema);
      return fc.oneof(
        fc.maxSafeInteger().map((value) => clamp(value, min, max)),
        fc.constantFrom(min, max),
      );
    }
    case 'number': {
      const { min, max } = bounds(schema);
      return fc.oneof(fc.double({ min, max, noNaN: true }), fc.constantFrom(min, max));
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return texts(schema);
    default:
      return fc.jsonValue({ maxDepth: 3 });
  }
}

function objects(schema: Json, definitions: Record<string, Json>, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  const required = new Set((schema.required ?? []) as string[]);
  const kept = properties.filter(([key]) => required.has(key) || depth < maxDepth);
  const fields = kept.map(([key, child]) => [key, build(child, definitions, depth + 1)] as const);
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
  const others = schema.additionalProperties;
  if (typeof others !== 'object' || others === null) return known;
  const more = fc.dictionary(fc.string({ maxLength: 10 }), build(others as Json, definitions, depth + 1), {
    maxKeys: maxItems,
  });
  return fc.tuple(more, known).map(([some, own]) => ({ ...some, ...(own as object) }));
}

function bounds({ minimum, maximum, exclusiveMinimum }: Json): { min: number; max: number } {
  const above = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + Number.EPSILON * 4 : undefined;
  const min = Number(minimum ?? above ?? -1e6);
  return { min, max: Math.max(min, Number(maximum ?? 1e9)) };
}

function clamp(value: number, min: number, max: number): number {
  return min + (Math.abs(value) % (Math.floor(max) - Math.ceil(min) + 1));
}

/** Created lazily: the generator of addresses alone takes most of a second of CPU. */
const formats: Readonly<Record<string, () => fc.Arbitrary<string>>> = {
  uuid: () =>
    fc.oneof(
      fc.uuid({ version: 4 }),
      fc.constant(0).map(() => randomUUID()),
    ),
  'date-time': () =>
    fc
      .date({ min: new Date('2015-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
  email: () => fc.emailAddress(),
  uri: () => fc.webUrl(),
};

function texts(schema: Json): fc.Arbitrary<string> {
  const format = formats[String(schema.format)];
  if (format) return format();
  const minLength = Number(schema.minLength ?? 0);
  const maxLength = Number(schema.maxLength ?? 1000);
  const usual = Math.max(minLength, Math.min(maxLength, maxUsualLength));
  if (typeof schema.pattern === 'string') return matching(schema.pattern, maxLength);
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  return fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength, maxLength: usual }).filter(fits) },
    { weight: 3, arbitrary: fc.string({ minLength, maxLength: usual }) },
    { weight: 1, arbitrary: fc.constantFrom('x'.repeat(minLength), 'y'.repeat(maxLength)) },
  );
}

/** Words that match many patterns, for patterns from which no text can be derived. */
const words = fc.tuple(
  fc.constantFrom('a', 'lab-', 'Test', 'KEY_', 'https://x.test/', 'x.test'),
  fc.nat(1e6),
);

const byPattern = new Map<string, fc.Arbitrary<string>>();

function matching(pattern: string, maxLength: number): fc.Arbitrary<string> {
  const expression = new RegExp(pattern, 'u');
  let texts = byPattern.get(pattern);
  if (!texts) {
    texts = textsOf(expression);
    byPattern.set(pattern, texts);
  }
  return texts.filter((text) => text.length <= maxLength);
}

function textsOf(expression: RegExp): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(expression, { size: '-1' });
  } catch {
    // It contains a lookahead or lookbehind, which cannot be inverted.
    return words
      .map(([word, number]) => (word.includes('.') ? word : `${word}${number}`))
      .filter((text) => expression.test(text));
  }
}
