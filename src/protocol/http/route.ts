import { z } from 'zod';

/**
 * Who may call a route: holders of an account's API key, of a location's key, or anybody. With `optional`
 * anybody may, and an API key that is sent shows more.
 */
export type Credential = 'account' | 'location' | 'none' | 'optional';

/** How often a caller may do something: up to `requests` times at once, and again as the window passes. */
export interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/**
 * One operation of the HTTP API. The table of routes is the one source of the service's handlers, the agent's
 * client and the OpenAPI document.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with `{name}` parameters, as spec.md writes it. */
  readonly path: string;
  /** Other paths that answer the same: addresses that existing clients know. */
  readonly aliases?: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  readonly credential: Credential;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * Fields of the body that clients of comparable systems send: they are taken and of no effect, where any
   * other unknown field is refused. Paths, with `*` for an index.
   */
  readonly ignoredFields?: readonly string[];
  /** Content type of the body where it is a text of another kind than JSON. */
  readonly bodyContentType?: string;
  /**
   * What the OpenAPI document shows as body where `body` is looser, because it is validated after merging.
   */
  readonly documentedBody?: z.ZodType;
  /** Success status and the label spec.md gives it. */
  readonly success: { readonly statusCode: 200 | 201 | 202 | 204; readonly label: string };
  /** Another success that it may answer with, in the same form or without a body: the handler sets it. */
  readonly otherSuccess?: Route['success'] & { readonly isEmpty?: true };
  /** The request may come without a body; the handler then gets none. */
  readonly isBodyOptional?: true;
  /** Whatever body comes is of no interest: it is read and forgotten, of any kind. */
  readonly isBodyIgnored?: true;
  /** It runs checks and changes nothing else: keys that may run but not write may call it. */
  readonly isRun?: true;
  /** Statuses of errors that routes like it do not answer: those the OpenAPI document names besides. */
  readonly otherErrors?: readonly number[];
  /** The body of the answer; absent for 204. */
  readonly response?: z.ZodType;
  /** What the OpenAPI document shows as answer where `response` is looser, because older builds stored it. */
  readonly documentedResponse?: z.ZodType;
  /** Content type of the answer where it is a text of another kind than JSON; `response` is a string then. */
  readonly responseContentType?: string;
  /** How often one caller may call it, where that differs from the service's general limit. */
  readonly rateLimit?: RateLimit;
  /**
   * The parameter of the path that the limit counts by instead of the caller's address, where many callers share
   * one: a token, a page. What is not found counts by the address.
   */
  readonly limitedBy?: string;
  /** Largest body accepted, in bytes; the service's default when absent. */
  readonly bodyLimitBytes?: number;
  /** Keys that may only read may call it although its method is not GET. */
  readonly isReadOnly?: true;
  /** Only admins of the account may call it, also to read. */
  readonly isAdmin?: true;
  /** It changes only what is the caller's own, whatever their role. */
  readonly isOwn?: true;
  /** The last parameter of the path is the rest of it, slashes included. */
  readonly hasPathTail?: true;
  /** The body is bytes that the handler streams by itself, under its own limit. */
  readonly isBodyRaw?: true;
  /** The answer is bytes that the handler sends by itself. */
  readonly isResponseRaw?: true;
  /** The handler works on the connection itself, so it is there over HTTP only: not for pages, deployments or tools. */
  readonly isOnConnection?: true;
}

/** Declares a route and keeps its literal types. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

/** A route as a table declares it. */
type Declared = Omit<Route, 'operationId' | 'tag' | 'credential' | 'success'> &
  Partial<Pick<Route, 'tag' | 'credential' | 'success'>>;

type Completed<R extends Declared, Name, C extends Credential> = R & {
  readonly operationId: Name;
  readonly tag: string;
  readonly success: Route['success'];
} & (R extends { readonly credential: Credential } ? unknown : { readonly credential: C });

/**
 * Declares routes by their operationId. A route that says nothing else has this tag and credential, and succeeds with
 * 200, or with 204 where it has no response.
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
    return [operationId, { tag, credential, success, ...route, operationId }];
  });
  return Object.fromEntries(completed);
}

/** Every path at which a route answers. */
export function pathsOf({ path, aliases = [] }: Pick<Route, 'path' | 'aliases'>): string[] {
  return [path, ...aliases];
}

/** Routes that answer under other versions of the API, too: `/v2/checks` as `/v1/checks`. */
export function alsoIn<const Routes extends Readonly<Record<string, Route>>>(
  versions: readonly string[],
  routes: Routes,
): Routes {
  const aliased = Object.entries(routes).map(([name, route]) => {
    const aliases = versions.map((version) => route.path.replace('/v1/', `/${version}/`));
    return [name, { ...route, aliases }];
  });
  return Object.fromEntries(aliased) as Routes;
}

export const successful = { statusCode: 200, label: 'Successful' } as const;
export const created = { statusCode: 201, label: 'Created' } as const;
export const accepted = { statusCode: 202, label: 'Accepted' } as const;
export const noContent = { statusCode: 204, label: 'No Content' } as const;

/** The body of every error answer. */
export const ErrorBody = z
  .object({
    statusCode: z.int(),
    error: z.string().describe('The HTTP phrase'),
    message: z.string().describe('The problem, its place and a fix'),
    code: z.string().optional().describe('Name of the error, if clients use names'),
    errorCode: z.string().optional().describe('Machine-readable code of some errors'),
    attributes: z.record(z.string(), z.unknown()).optional(),
    deploymentId: z.string().optional().describe('The conflicting deployment, with 409'),
    validation: z
      .object({
        source: z.enum(['payload', 'query', 'params', 'headers']),
        keys: z.array(z.string()).describe('Every bad field, as a dotted path'),
      })
      .optional(),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof ErrorBody>;
