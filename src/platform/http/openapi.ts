import { STATUS_CODES } from 'node:http';
import { packageVersion } from '@picket/lib/version.ts';
import { ErrorBody, type Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';
import { heedsKeys, longestKey } from './idempotency/idempotency.ts';

type Json = Record<string, unknown>;
type Direction = 'input' | 'output';

const security = {
  account: [{ apiKey: [] }],
  location: [{ locationKey: [] }],
  none: [],
  optional: [{}, { apiKey: [] }],
} as const;

/** Builds the OpenAPI 3.1 document of the API from the table of routes. */
export async function buildOpenApi(routes: readonly Route[]): Promise<object> {
  const schemas = new SchemaCollection();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Picket API',
      version: packageVersion(),
      description: 'Checks, their results and statuses, private locations, and the protocol of their agents.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'API key of an account' },
        locationKey: { type: 'http', scheme: 'bearer', description: 'Key of a private location' },
      },
      schemas: schemas.components(),
    },
  };
}

function operation(route: Route, schemas: SchemaCollection): Json {
  const body = route.documentedBody ?? route.body;
  const response = route.documentedResponse ?? route.response;
  const successes: readonly NonNullable<Route['otherSuccess']>[] = [
    route.success,
    ...(route.otherSuccess ? [route.otherSuccess] : []),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.aliases ? { description: `Also at ${route.aliases.join(', ')}.` } : {}),
    tags: [route.tag],
    security: security[route.credential],
    parameters: [
      ...parameters('path', route.params, schemas),
      ...parameters('query', route.query, schemas),
      ...(route.credential === 'account' ? [accountHeader] : []),
      ...(heedsKeys(route) ? [keyHeader] : []),
    ],
    ...(body
      ? {
          requestBody: {
            required: !route.isBodyOptional,
            content: {
              [route.bodyContentType ?? 'application/json']: { schema: schemas.use(body, 'input') },
            },
          },
        }
      : {}),
    ...(route.keptBodyBytes !== undefined && route.method !== 'GET'
      ? { requestBody: { required: false, content: { '*/*': {} } } }
      : {}),
    ...(route.isBodyRaw ? { requestBody: { required: true, content: rawContent } } : {}),
    responses: {
      ...Object.fromEntries(
        successes.map(({ statusCode, label, isEmpty }) => [
          statusCode,
          {
            description: label,
            ...(route.isResponseRaw ? { content: rawContent } : {}),
            ...(response && !isEmpty
              ? {
                  content: {
                    [route.responseContentType?.split(';')[0] ?? 'application/json']: {
                      schema: schemas.use(response, 'output'),
                    },
                  },
                }
              : {}),
          },
        ]),
      ),
      ...Object.fromEntries(errorStatuses(route).map((status) => [status, errorAnswer(status, schemas)])),
    },
  };
}

/** Bytes; OpenAPI 3.1 gives such content no schema. */
const rawContent = { 'application/octet-stream': {} };

const accountHeader = {
  name: 'x-service-account',
  in: 'header',
  required: false,
  description: 'Id of the account; without it the account of the API key',
  schema: { type: 'string' },
};

const keyHeader = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A text of your choice, such as a UUID: sent again with the same request within 24 hours, the request is not carried out again but answered as it was',
  schema: { type: 'string', minLength: 1, maxLength: longestKey },
};

function parameters(place: 'path' | 'query', schema: z.ZodObject | undefined, schemas: SchemaCollection) {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const zodField = field as z.ZodType;
    // The meaning of a query parameter (a boolean, a number), not its text form.
    const { description, ...rest } = schemas.use(zodField, 'output');
    return {
      name,
      in: place,
      required: place === 'path' || !zodField.safeParse(undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

/** Returns the error statuses that the document declares for a route; others are faults. */
export function errorStatuses(route: Route): number[] {
  // Any input can at least have unknown parameters.
  const hasInput = route.params || route.query || route.body || route.credential === 'account';
  return [
    ...(hasInput ? [400] : []),
    // A public page with a query accepts its own key there if it is private.
    ...(route.credential === 'none' && !route.query ? [] : [401]),
    ...(route.credential === 'account' || route.credential === 'optional' ? [403] : []),
    ...(route.otherErrors ?? []),
    ...(route.params ? [404] : []),
    ...(heedsKeys(route) ? [409, 422] : []),
    ...(route.body ? [413, 415] : []),
    ...(route.isBodyRaw ? [413, 415, 507] : []),
    ...(route.isResponseRaw ? [416] : []),
    ...(route.credential === 'location' ? [] : [429]),
    503,
  ];
}

function errorAnswer(status: number, schemas: SchemaCollection): Json {
  return {
    description: STATUS_CODES[status] ?? 'Error',
    content: { 'application/json': { schema: schemas.use(ErrorBody, 'output') } },
  };
}

const componentRef = '#/components/schemas/';

/**
 * The named schemas of the document. Request and response schemas differ (fields with defaults are optional in
 * requests), so a schema used both ways appears twice when the two forms differ: `Name` and `NameWrite`.
 */
class SchemaCollection {
  readonly #named: Record<Direction, Map<string, Json>> = { input: new Map(), output: new Map() };
  readonly #inputUses: Json[] = [];

  /** Returns the JSON Schema of one use: a reference if the schema has a name. */
  use(schema: z.ZodType, direction: Direction): Json {
    const generated = z.toJSONSchema(schema, {
      io: direction,
      target: 'draft-2020-12',
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        // Clients have to accept fields that a later version adds.
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        // Noise: the bounds of every integer, and patterns that repeat the format.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      },
    }) as Json;
    const { $schema: _, $defs: definitions = {}, id, ...root } = generated;
    for (const [name, definition] of Object.entries(definitions as Record<string, Json>)) {
      this.#name(direction, name, definition);
    }
    let used: Json = pointToComponents(root) as Json;
    if (typeof id === 'string') {
      this.#name(direction, id, root);
      used = { $ref: componentRef + id };
    }
    if (direction === 'input') this.#inputUses.push(used);
    return used;
  }

  #name(direction: Direction, name: string, definition: Json): void {
    const { id: _, ...schema } = definition;
    this.#named[direction].set(name, pointToComponents(schema) as Json);
  }

  /** Returns all named schemas by name. Renames inputs that differ from the output of the same name, and their uses. */
  components(): Record<string, Json> {
    const { input, output } = this.#named;
    const differing = new Set<string>();
    let isSettled = false;
    while (!isSettled) {
      isSettled = true;
      for (const [name, schema] of input) {
        const other = output.get(name);
        if (differing.has(name) || !other) continue;
        const renamed = renameRefs(schema, differing);
        if (JSON.stringify(renamed) === JSON.stringify(other)) continue;
        differing.add(name);
        isSettled = false;
      }
    }
    const all = new Map(output);
    for (const [name, schema] of input) {
      all.set(differing.has(name) ? `${name}Write` : name, renameRefs(schema, differing) as Json);
    }
    for (const used of this.#inputUses) Object.assign(used, renameRefs(used, differing));
    return Object.fromEntries([...all].sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}

/** Converts zod's own references to those of the document. */
function pointToComponents(value: unknown): unknown {
  return mapRefs(value, (ref) => ref.replace(/^#\/\$defs\//, componentRef));
}

function renameRefs(value: unknown, names: ReadonlySet<string>): unknown {
  return mapRefs(value, (ref) => {
    const name = ref.slice(componentRef.length);
    return names.has(name) ? `${ref}Write` : ref;
  });
}

function mapRefs(value: unknown, map: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapRefs(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      key === '$ref' && typeof child === 'string' ? map(child) : mapRefs(child, map),
    ]),
  );
}
