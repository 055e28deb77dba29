import { isRecord } from '@picket/lib/json/record.ts';
import { nearestName } from '@picket/lib/names/nearest-name.ts';

/** A part of a JSON schema that no validator can apply. */
export interface SchemaProblem {
  /** JSON pointer to the part; empty for the whole schema. */
  readonly pointer: string;
  readonly problem: string;
}

type Draft = '7' | '2020-12';

/** Form of the value of a keyword. */
type Kind =
  | 'schema'
  | 'schemas'
  | 'schema-or-schemas'
  | 'named-schemas'
  | 'named-schemas-or-names'
  | 'named-names'
  | 'names'
  | 'count'
  | 'number'
  | 'divisor'
  | 'boolean'
  | 'text'
  | 'pattern'
  | 'type'
  | 'list'
  | 'anything'
  | 'unsupported';

/** Keywords of draft-07 and of 2020-12: one that only the other draft has is applied, as most validators do. */
const byKind: Readonly<Record<Kind, string>> = {
  schema:
    'not if then else additionalProperties unevaluatedProperties propertyNames additionalItems unevaluatedItems contains',
  schemas: 'allOf anyOf oneOf prefixItems',
  'schema-or-schemas': 'items',
  'named-schemas': '$defs definitions properties patternProperties dependentSchemas',
  'named-schemas-or-names': 'dependencies',
  'named-names': 'dependentRequired',
  names: 'required',
  count: 'minProperties maxProperties minContains maxContains minItems maxItems minLength maxLength',
  number: 'minimum maximum exclusiveMinimum exclusiveMaximum',
  divisor: 'multipleOf',
  boolean: 'uniqueItems',
  text: '$ref $id $schema $anchor $comment format',
  pattern: 'pattern',
  type: 'type',
  list: 'enum',
  anything:
    'const $vocabulary title description default examples readOnly writeOnly deprecated contentEncoding contentMediaType contentSchema',
  unsupported: '$dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor',
};
const keywords: ReadonlyMap<string, Kind> = new Map(
  Object.entries(byKind).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind as Kind])),
);

const types: ReadonlySet<unknown> = new Set([
  'null',
  'boolean',
  'object',
  'array',
  'number',
  'integer',
  'string',
]);

/** Reference to a schema, for the caller to resolve. */
export interface SchemaReference {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly pointer: string;
}

interface Part {
  readonly value: unknown;
  readonly pointer: string;
}

/**
 * Checks the keywords of schemas. A schema that several references name is checked once; keywords that no draft has are
 * notes of their author, unless they look like a typing error.
 */
export class KeywordCheck {
  readonly references: SchemaReference[] = [];
  readonly #draft: Draft;
  readonly #seen = new Set<unknown>();
  readonly #open: Part[] = [];

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** Returns the first problem of a schema and of all schemas in it. */
  problemOf(schema: unknown, pointer = ''): SchemaProblem | undefined {
    this.#open.push({ value: schema, pointer });
    for (let part = this.#open.pop(); part; part = this.#open.pop()) {
      const { value } = part;
      if (typeof value === 'boolean' || this.#seen.has(value)) continue;
      this.#seen.add(value);
      const found = isRecord(value)
        ? this.#problemIn(value, part.pointer)
        : { pointer: part.pointer, problem: 'must be a schema: an object, true or false' };
      if (found) return found;
    }
    return undefined;
  }

  #problemIn(schema: Readonly<Record<string, unknown>>, pointer: string): SchemaProblem | undefined {
    for (const [name, value] of Object.entries(schema)) {
      const at = `${pointer}/${name}`;
      const kind = keywords.get(name);
      const problem = kind ? this.#valueProblem(kind, value, at) : unknownProblem(name);
      if (problem !== undefined) return { pointer: at, problem };
    }
    if (schema['$ref'] !== undefined) this.references.push({ schema, pointer: `${pointer}/$ref` });
    return undefined;
  }

  /** Returns why the value of a keyword cannot be used; puts the schemas in it on the list. */
  #valueProblem(kind: Kind, value: unknown, pointer: string): string | undefined {
    switch (kind) {
      case 'schema':
        this.#open.push({ value, pointer });
        return undefined;
      case 'schema-or-schemas':
        if (!Array.isArray(value)) return this.#valueProblem('schema', value, pointer);
        if (this.#draft === '2020-12')
          return 'must be one schema: 2020-12 has prefixItems for a list of them';
        return this.#schemasProblem(value, pointer);
      case 'schemas':
        if (!Array.isArray(value) || value.length === 0) return 'must be a list of schemas';
        return this.#schemasProblem(value, pointer);
      case 'named-schemas':
      case 'named-schemas-or-names':
        return this.#namedProblem(kind, value, pointer);
      case 'named-names':
        return isRecord(value) && Object.values(value).every(areNames)
          ? undefined
          : 'must be an object of lists of names';
      default:
        return plainProblem(kind, value);
    }
  }

  #schemasProblem(values: readonly unknown[], pointer: string): undefined {
    for (const [index, value] of values.entries()) this.#open.push({ value, pointer: `${pointer}/${index}` });
  }

  #namedProblem(kind: Kind, value: unknown, pointer: string): string | undefined {
    if (!isRecord(value)) return 'must be an object of schemas';
    for (const [name, schema] of Object.entries(value)) {
      if (pointer.endsWith('/patternProperties')) {
        const problem = plainProblem('pattern', name);
        if (problem !== undefined) return problem;
      }
      if (kind === 'named-schemas-or-names' && areNames(schema)) continue;
      this.#open.push({ value: schema, pointer: `${pointer}/${name}` });
    }
    return undefined;
  }
}

/** Returns why a value that contains no schemas cannot be used. */
function plainProblem(kind: Kind, value: unknown): string | undefined {
  switch (kind) {
    case 'names':
      return areNames(value) ? undefined : 'must be a list of names';
    case 'count':
      return Number.isInteger(value) && Number(value) >= 0 ? undefined : 'must be a whole number from 0';
    case 'number':
      return typeof value === 'number' ? undefined : 'must be a number';
    case 'divisor':
      return typeof value === 'number' && value > 0 ? undefined : 'must be a number above 0';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'text':
      return typeof value === 'string' ? undefined : 'must be a string';
    case 'pattern':
      return patternProblem(value);
    case 'type': {
      const isKnown = Array.isArray(value)
        ? value.length > 0 && value.every((one) => types.has(one))
        : types.has(value);
      return isKnown ? undefined : `must be one or more of [${[...types].join(', ')}]`;
    }
    case 'list':
      return Array.isArray(value) && value.length > 0 ? undefined : 'must be a list with at least one value';
    case 'unsupported':
      return 'is not supported: use $ref';
    default:
      return undefined;
  }
}

/** The standard asks for expressions of JavaScript with Unicode (2020-12, core, section 6.4). */
function patternProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a regular expression';
  try {
    new RegExp(value, 'u');
    return undefined;
  } catch {
    return `is not a valid regular expression with Unicode: ${value}`;
  }
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

/** Keywords of OpenAPI that say nothing about which documents match. */
const notes: ReadonlySet<string> = new Set(['example', 'discriminator', 'externalDocs', 'xml']);

function unknownProblem(name: string): string | undefined {
  if (notes.has(name)) return undefined;
  if (name.startsWith('__')) return 'is no keyword of JSON Schema';
  if (name === 'nullable') return 'is no keyword of JSON Schema; write type: [..., "null"]';
  const meant = nearestName(name, keywords.keys(), 2);
  // `id` is not `if`, and short words of authors are not typing errors.
  return meant === undefined || name.length < 4
    ? undefined
    : `is no keyword of JSON Schema; did you mean ${meant}?`;
}
