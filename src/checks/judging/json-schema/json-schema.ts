import { createRequire } from 'node:module';
import type { OutputUnit } from '@cfworker/json-schema';
import { CpuLimitExceeded, ThreadStarved } from '@picket/lib/bounds/cpu-limit.ts';
import { type WorkBudget, WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { toError } from '@picket/lib/errors.ts';
import { ExactNumber } from '@picket/lib/json/exact-number.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import { KeywordCheck, type SchemaProblem } from './keywords.ts';

/** A text is not a usable JSON schema. */
export class SchemaError extends Error {}

/** More than any API describes; an agent holds some of them in memory. */
export const maxSchemaLength = 256 * 1024;
/** Schemas and references go deeper by nesting: each level costs stack. */
const maxSchemaDepth = 100;

const drafts = dictionary<'7' | '2020-12'>({
  'http://json-schema.org/draft-07/schema': '7',
  'https://json-schema.org/draft-07/schema': '7',
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
});

interface UsableSchema {
  readonly schema: Readonly<Record<string, unknown>> | boolean;
  readonly draft: '7' | '2020-12';
  /** The schemas in it by their absolute URI. */
  readonly lookup: Record<string, Readonly<Record<string, unknown>> | boolean>;
}

/** Those of the last checks of a thread: a million characters. */
const usable = new LruMap<string, UsableSchema>(1_000_000, (_, text) => text.length);

type Validation = typeof import('@cfworker/json-schema');
let validation: Validation | undefined;

/**
 * Loads the validator, which most agents never need. It interprets schemas: authors of checks cannot make it run
 * code, as in validators that compile them.
 */
function loaded(): Validation {
  validation ??= createRequire(import.meta.url)('@cfworker/json-schema') as Validation;
  return validation;
}

/** Returns why a text is not a usable JSON schema (draft-07 or 2020-12), or undefined if it is one. */
export function jsonSchemaProblem(text: string, budget: WorkBudget): string | undefined {
  try {
    usableSchema(text, budget);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SchemaError || thrown instanceof WorkExceeded) return thrown.message;
    // The run of the check will tell.
    if (thrown instanceof ThreadStarved) return undefined;
    throw thrown;
  }
}

/**
 * Returns where and why a JSON value does not match a schema, or null if it does.
 *
 * @param value as returned by `parseJson`; numbers are compared as doubles.
 * @throws SchemaError, WorkExceeded, ThreadStarved.
 */
export function schemaMismatch(text: string, value: unknown, budget: WorkBudget): string | null {
  const { schema, draft, lookup } = usableSchema(text, budget);
  const { validate } = loaded();
  return timed(budget, () => {
    try {
      const { valid, errors } = validate(withDoubles(value), schema, draft, lookup);
      return valid ? null : mismatchText(errors);
    } catch (thrown) {
      // The validator writes names of members as URIs, which have no half of a surrogate pair.
      if (thrown instanceof URIError) return 'a name in the document is not valid Unicode';
      throw thrown;
    }
  });
}

function usableSchema(text: string, budget: WorkBudget): UsableSchema {
  const known = usable.get(text);
  if (known) return known;
  if (text.length > maxSchemaLength) {
    throw new SchemaError(`the JSON schema is longer than ${maxSchemaLength} characters`);
  }
  const schema = parsedSchema(text);
  loaded();
  const made = timed(budget, () => madeUsable(schema));
  usable.set(text, made);
  return made;
}

function parsedSchema(text: string): UsableSchema['schema'] {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (thrown) {
    throw new SchemaError(`the JSON schema is not JSON: ${toError(thrown).message}`);
  }
  if (typeof schema === 'boolean' || isRecord(schema)) return schema;
  throw new SchemaError('a JSON schema is an object, true or false');
}

function madeUsable(schema: UsableSchema['schema']): UsableSchema {
  if (typeof schema === 'boolean') return { schema, draft: '2020-12', lookup: {} };
  if (isDeeperThan(schema, maxSchemaDepth)) {
    throw new SchemaError(`the JSON schema is nested more than ${maxSchemaDepth} levels deep`);
  }
  const draft = draftOf(schema);
  const check = new KeywordCheck(draft);
  refuse(check.problemOf(schema));
  const lookup = lookupOf(schema);
  // A reference may name a part that no keyword contains, such as `#/components/schemas/Order` of an OpenAPI document.
  for (const { schema: referring, pointer } of check.references) {
    const named = lookup[String(referring['__absolute_ref__'])];
    if (named === undefined) refuse({ pointer, problem: unresolved(String(referring['$ref'])) });
    refuse(check.problemOf(named, String(referring['$ref']).replace(/^#/, '')));
  }
  return { schema, draft, lookup };
}

function lookupOf(schema: Readonly<Record<string, unknown>>): UsableSchema['lookup'] {
  try {
    return loaded().dereference(schema);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw thrown;
    throw new SchemaError(`the references of the JSON schema cannot be used: ${toError(thrown).message}`);
  }
}

function draftOf({ $schema: written }: Readonly<Record<string, unknown>>): '7' | '2020-12' {
  if (written === undefined) return '2020-12';
  const draft = drafts[String(written).replace(/#$/, '')];
  if (draft !== undefined) return draft;
  throw new SchemaError('$schema of the JSON schema must be draft-07 or draft/2020-12');
}

function unresolved(reference: string): string {
  const isOwn = reference.startsWith('#');
  return isOwn
    ? `${reference} is not in the schema`
    : `${reference} is another document, and schemas are not fetched: copy it into $defs, with its $id`;
}

function refuse(problem: SchemaProblem | undefined): void {
  if (problem)
    throw new SchemaError(`the JSON schema cannot be used: ${problem.pointer || 'it'} ${problem.problem}`);
}

function isDeeperThan(root: unknown, most: number): boolean {
  const open: [unknown, number][] = [[root, 1]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, depth] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > most) return true;
    for (const item of Object.values(value)) open.push([item, depth + 1]);
  }
  return false;
}

/** Patterns of schemas cannot be counted in steps: processor time limits all of it. */
function timed<Result>(budget: WorkBudget, work: () => Result): Result {
  try {
    return budget.timed(work);
  } catch (thrown) {
    if (thrown instanceof CpuLimitExceeded) throw new WorkExceeded(`the JSON schema ${thrown.message}`);
    // Documents and references may be nested deeper than the stack, or without end.
    if (thrown instanceof RangeError)
      throw new WorkExceeded('the JSON schema leads too deep into the document');
    if (thrown instanceof SchemaError || thrown instanceof ThreadStarved) throw thrown;
    throw new SchemaError(`the JSON schema cannot be applied: ${toError(thrown).message}`);
  }
}

/** The value with every number as a double, which is all that the validator knows. */
function withDoubles(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.nearest;
  if (typeof value !== 'object' || value === null) return value;
  let copy: object | undefined;
  for (const [key, item] of Object.entries(value)) {
    const double = withDoubles(item);
    if (double === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    // Not an assignment: a document may have the key `__proto__`.
    Object.defineProperty(copy, key, { value: double, enumerable: true });
  }
  return copy ?? value;
}

/** Errors of these keywords only say that one in them follows. */
const leading: ReadonlySet<string> = new Set([
  ...['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'properties', 'patternProperties', 'additionalProperties'],
  ...['unevaluatedProperties', 'dependentSchemas', 'dependencies', 'prefixItems', 'items', 'additionalItems'],
  ...['unevaluatedItems', 'propertyNames', 'contains'],
]);
const maxReasonLength = 300;

/** Names the error deepest in the document: with alternatives, that of the one that matched best. */
function mismatchText(errors: readonly OutputUnit[]): string {
  let found = errors[0];
  for (const [index, error] of errors.entries()) {
    // A part that must be absent: its parent names it.
    const own = error.keyword === 'false' ? (errors[index - 1] ?? error) : error;
    if (own === error && leading.has(own.keyword)) continue;
    if (found === undefined || leading.has(found.keyword) || depthOf(own) > depthOf(found)) found = own;
  }
  if (!found) return 'it does not match the schema';
  const path = pathOf(found.instanceLocation);
  const reason =
    found.error.length > maxReasonLength ? `${found.error.slice(0, maxReasonLength)}…` : found.error;
  const rule = found.keywordLocation.replace(/^#/, '');
  return `${path === '' ? '' : `${path}: `}${reason} (${rule} of the schema)`;
}

function depthOf({ instanceLocation }: OutputUnit): number {
  return instanceLocation.split('/').length;
}

/** `#/items/3/price` as `items[3].price`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) =>
      /^\d+$/.test(name)
        ? `[${name}]`
        : /^[A-Za-z_$][\w$-]*$/.test(name)
          ? `.${name}`
          : `[${JSON.stringify(name)}]`,
    )
    .join('')
    .replace(/^\./, '');
}
