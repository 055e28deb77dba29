import { z } from 'zod';

type Json = Record<string, unknown>;

/** A value that a schema must refuse, its path, and the reason. */
export interface WrongValue {
  /** Path of keys; a number is an array index. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  readonly why: string;
}

/** Wrong values for every field of a schema, one at a time, derived from its JSON Schema. */
export function wrongValuesFor(schema: z.ZodType): WrongValue[] {
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Json;
  const definitions = (document.$defs ?? {}) as Record<string, Json>;
  return visit(document, [], definitions);
}

function visit(
  schema: Json,
  path: readonly (string | number)[],
  definitions: Record<string, Json>,
): WrongValue[] {
  const resolved = resolve(schema, definitions);
  const branches = branchesOf(resolved, definitions);
  if (branches.length === 0) return [];
  const wrong: WrongValue[] = [];
  if (path.length > 0) {
    for (const [why, value] of ofOtherTypes) {
      if (!branches.some((branch) => accepts(branch, value))) wrong.push({ path, value, why });
    }
    const only = branches.filter((branch) => branch.type !== 'null');
    if (only[0] && only.length === 1) wrong.push(...outOfBounds(only[0], path));
  }
  for (const branch of branches) {
    for (const [key, child] of Object.entries((branch.properties ?? {}) as Record<string, Json>)) {
      wrong.push(...visit(child, [...path, key], definitions));
    }
    if (branch.type === 'array' && branch.items) {
      wrong.push(...visit(branch.items as Json, [...path, 0], definitions));
    }
  }
  return wrong;
}

function resolve(schema: Json, definitions: Record<string, Json>): Json {
  if (typeof schema.$ref !== 'string') return schema;
  const name = schema.$ref.split('/').at(-1) ?? '';
  return { ...definitions[name] };
}

function branchesOf(schema: Json, definitions: Record<string, Json>): Json[] {
  const any = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (any) return any.flatMap((branch) => branchesOf(resolve(branch, definitions), definitions));
  if (Array.isArray(schema.enum) || 'const' in schema || typeof schema.type === 'string') return [schema];
  return [];
}

const ofOtherTypes: readonly [string, unknown][] = [
  ['null', null],
  ['a boolean', true],
  ['a number', 7],
  ['a fraction', 0.5],
  ['a text', 'no such value'],
  ['an empty text', ''],
  ['an object', {}],
  ['a list', []],
  ['a list of lists', [[]]],
];

function accepts(schema: Json, value: unknown): boolean {
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  if ('const' in schema) return schema.const === value;
  switch (schema.type) {
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return true;
  }
}

function outOfBounds(schema: Json, path: readonly (string | number)[]): WrongValue[] {
  const wrong: WrongValue[] = [];
  const add = (why: string, value: unknown) => wrong.push({ path, value, why });
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, format, pattern } = schema;
  if (Array.isArray(schema.enum) || 'const' in schema) return wrong;
  if (typeof minimum === 'number') add('too small', minimum - 1);
  if (typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER) add('too big', maximum + 1);
  if (typeof minLength === 'number' && minLength > 0) add('too short', 'x'.repeat(minLength - 1));
  if (typeof maxLength === 'number') add('too long', 'x'.repeat(maxLength + 1));
  if (typeof pattern === 'string') {
    const misfit = ['\n?', '\0'].find((text) => !new RegExp(pattern, 'u').test(text));
    if (misfit !== undefined) add('of another form', misfit);
  } else if (typeof format === 'string') add('of another form', '\n?');
  if (typeof minItems === 'number' && minItems > 0) add('too few', []);
  if (typeof maxItems === 'number')
    add(
      'too many',
      Array.from({ length: maxItems + 1 }, () => ({})),
    );
  return wrong;
}

/** Returns a copy of a body with one value replaced; missing containers on the path are created. */
export function withValue(body: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === 'number') {
    const list = Array.isArray(body) ? body : [];
    return [withValue(list[key], rest, value), ...list.slice(1)];
  }
  const record = typeof body === 'object' && body !== null ? (body as Json) : {};
  return { ...record, [key]: withValue(record[key], rest, value) };
}

/** Whether one of the keys in an error is the path, a prefix of it or inside it. */
export function namesPath(keys: readonly string[], path: readonly (string | number)[]): boolean {
  const dotted = path.join('.');
  return keys.some((key) => key === dotted || key.startsWith(`${dotted}.`));
}
