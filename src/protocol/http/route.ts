import { LazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/**
 * Callers of a route: holders of an account's API key, of a location's key, or anyone. `optional`: anyone, and a
 * request with an API key gets more.
 */
export type Credential = 'account' | 'location' | 'none' | 'optional';

/** Rate limit of a caller: up to `requests` at once, regained evenly over the window. */
export interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/**
 * One operation of the HTTP API. The route table is the only source of the service's handlers, the agent's client and
 * the OpenAPI document.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with `{name}` parameters, as spec.md writes it. */
  readonly path: string;
  /** Other paths of the same operation, which existing clients use. */
  readonly aliases?: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  readonly credential: Credential;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * Fields of the body that clients of comparable systems send: they are accepted without effect, whereas other unknown
   * fields are refused. Paths, with `*` for an index.
   */
  readonly ignoredFields?: readonly string[];
  /** Content type of a text body other than JSON. */
  readonly bodyContentType?: string;
  /** Body in the OpenAPI document, if `body` is looser because the result of merging is validated. */
  readonly documentedBody?: z.ZodType;
  /** Success status and its label in spec.md. */
  readonly success: { readonly statusCode: 200 | 201 | 202 | 204; readonly label: string };
  /** Another success status, with the same body or without one: the handler sets it. */
  readonly otherSuccess?: Route['success'] & { readonly isEmpty?: true };
  /** Whether the body may be absent; the handler then gets none. */
  readonly isBodyOptional?: true;
  /**
   * The body may be of any kind, and of any size: the handler gets its first bytes, up to this number, as `KeptBody`.
   * The rest is read and discarded.
   */
  readonly keptBodyBytes?: number;
  /** Whether it only runs checks and changes nothing else: keys that may run but not write may call it. */
  readonly isRun?: true;
  /** Additional error statuses in the OpenAPI document, beyond those of similar routes. */
  readonly otherErrors?: readonly number[];
  /** Body of the response; absent for 204. */
  readonly response?: z.ZodType;
  /** Response in the OpenAPI document, if `response` is looser because older builds stored it. */
  readonly documentedResponse?: z.ZodType;
  /** Content type of a text response other than JSON; `response` is a string then. */
  readonly responseContentType?: string;
  /** Rate limit of a caller, if it differs from the service's general limit. */
  readonly rateLimit?: RateLimit;
  /**
   * The path parameter by which the limit counts in place of the caller's address, if many callers share an address: a
   * token, a page. Unknown values count by address.
   */
  readonly limitedBy?: string;
  /** Maximum size of the body, in bytes; the service's default when absent. */
  readonly bodyLimitBytes?: number;
  /** Whether read-only keys may call it although its method is not GET. */
  readonly isReadOnly?: true;
  /** Whether only admins of the account may call it, even to read. */
  readonly isAdmin?: true;
  /** Whether it changes only data of the caller, so that any role may call it. */
  readonly isOwn?: true;
  /** Whether the last path parameter contains the rest of the path, slashes included. */
  readonly hasPathTail?: true;
  /** Whether the body is bytes that the handler itself streams, under its own limit. */
  readonly isBodyRaw?: true;
  /** Whether the response is bytes that the handler itself sends. */
  readonly isResponseRaw?: true;
  /** Whether the handler uses the connection itself, so that only HTTP can call it: not pages, deployments or tools. */
  readonly isOnConnection?: true;
}

/** The beginning of a body that may be of any kind; undefined without a body. */
export interface KeptBody {
  readonly bytes: Buffer;
  /** Whether the body went on. */
  readonly isCut: boolean;
}

type SchemaField = 'params' | 'query' | 'body' | 'documentedBody' | 'response' | 'documentedResponse';

/** A route whose schemas may be made when they are first used. */
type LazyRoute = {
  readonly [Field in keyof Route]: Field extends SchemaField
    ? Route[Field] | LazySchema<NonNullable<Route[Field]>>
    : Route[Field];
};

type Made<Value> = Value extends LazySchema<infer Schema> ? Schema : Value;

/** A declaration with the schemas themselves. */
export type WithSchemas<R> = { readonly [Field in keyof R]: Made<R[Field]> };

/** Declares a route and keeps its literal types. */
export function defineRoute<const R extends LazyRoute>(route: R): WithSchemas<R> {
  return withSchemas(route, {});
}

/** Returns a declaration with other fields; its lazy schemas are made when they are read. */
export function withSchemas<R extends object, Others extends object>(
  route: R,
  others: Others,
): WithSchemas<R> & Others {
  const fields: PropertyDescriptorMap = {
    ...Object.getOwnPropertyDescriptors(route),
    ...Object.getOwnPropertyDescriptors(others),
  };
  for (const [name, { value }] of Object.entries(fields)) {
    if (value instanceof LazySchema)
      fields[name] = { get: () => value.schema, enumerable: true, configurable: true };
  }
  return Object.defineProperties({}, fields) as WithSchemas<R> & Others;
}

/** A route as declared in a table. */
type Declared = Omit<LazyRoute, 'operationId' | 'tag' | 'credential' | 'success'> &
  Partial<Pick<Route, 'tag' | 'credential' | 'success'>>;

type Completed<R extends Declared, Name, C extends Credential> = WithSchemas<R> & {
  readonly operationId: Name;
  readonly tag: string;
  readonly success: Route['success'];
} & (R extends { readonly credential: Credential } ? unknown : { readonly credential: C });

/**
 * Declares routes by their operationId. By default, a route has this tag and credential, and succeeds with 200, or with
 * 204 if it has no response.
 */
export function defineRoutes<
  const C extends Credential,
  const Routes extends Readonly<Record<string, Declared>>,
>(
  tag: string,
  credential: C,
  routes: Routes,
): { readonly [Name in keyof Routes]: Completed<Routes[Name], Name, C> } {
  const completed = Object.entries(routes).map(([operationId, route]) => {
    const success = route.response ? successful : noContent;
    return [operationId, withSchemas({ tag, credential, success, ...route, operationId }, {})];
  });
  return Object.fromEntries(completed);
}

/** Returns every path of a route. */
export function pathsOf({ path, aliases = [] }: Pick<Route, 'path' | 'aliases'>): string[] {
  return [path, ...aliases];
}

/** Adds paths of other API versions to routes: `/v2/checks` as `/v1/checks`. */
export function alsoIn<const Routes extends Readonly<Record<string, Route>>>(
  versions: readonly string[],
  routes: Routes,
): Routes {
  const aliased = Object.entries(routes).map(([name, route]) => {
    const aliases = versions.map((version) => route.path.replace('/v1/', `/${version}/`));
    return [name, withSchemas(route, { aliases })];
  });
  return Object.fromEntries(aliased) as Routes;
}

export const successful = { statusCode: 200, label: 'Successful' } as const;
export const created = { statusCode: 201, label: 'Created' } as const;
export const accepted = { statusCode: 202, label: 'Accepted' } as const;
export const noContent = { statusCode: 204, label: 'No Content' } as const;

/** The body of every error response. */
export const ErrorBody = z
  .object({
    statusCode: z.int(),
    error: z.string().describe('Reason phrase of the status'),
    message: z.string().describe('The problem, its place and a fix'),
    code: z.string().optional().describe('Name of the error, if clients use names'),
    errorCode: z.string().optional().describe('Machine-readable error code; only some errors have one'),
    attributes: z.record(z.string(), z.unknown()).optional(),
    deploymentId: z.string().optional().describe('With 409: the conflicting deployment'),
    validation: z
      .object({
        source: z.enum(['payload', 'query', 'params', 'headers']),
        keys: z.array(z.string()).describe('Every invalid field, as a dotted path'),
      })
      .optional(),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof ErrorBody>;
