import { AppError } from '@picket/lib/errors.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { z } from 'zod';
import { blankNameIssues, unknownFieldIssues, unknownParameterIssues } from './unknown-names.ts';
import { fieldError, findUnstorable, validationError } from './validation.ts';

type Source = 'query' | 'params' | 'payload';

interface Values {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/**
 * Parses the input of an operation with its schemas: the same check for the API, pages, deployments and tools.
 *
 * @throws AppError VALIDATION_FAILED or MALFORMED_BODY
 */
export function validated(route: Route, given: Values): Required<Values> {
  refuse('query', unknownParameterIssues(route, given.query));
  refuseUnstorable('query', given.query);
  refuseUnstorable('params', given.params);
  if (route.body && !route.isBodyOptional && (given.body === undefined || given.body === null)) {
    throw new AppError('MALFORMED_BODY', 'The request needs a JSON body.');
  }
  if (!route.body) refuse('payload', unknownFieldIssues(route, given.body));
  return {
    params: lowerCaseIds(parsed('params', route.params, given.params)),
    body: validatedBody(route, given.body),
    query: parsed('query', route.query, given.query),
  };
}

/**
 * Parses the body of an operation.
 *
 * @throws AppError VALIDATION_FAILED
 */
export function validatedBody(route: Route, body: unknown): unknown {
  // The schemas of the agent protocol restrict its texts; reports contain whatever targets sent.
  if (route.credential !== 'location' && !route.isBodyRaw && route.keptBodyBytes === undefined)
    refuseUnstorable('payload', body);
  if (!route.body) return body;
  const issues = [...unknownFieldIssues(route, body), ...blankNameIssues(route, body)];
  return parsed('payload', route.body, body ?? null, issues);
}

/** Parses a value with its schema; unchanged without a schema. */
function parsed(
  source: Source,
  schema: z.ZodType | undefined,
  value: unknown,
  known: readonly z.core.$ZodIssue[] = [],
): unknown {
  if (!schema) return value;
  const result = schema.safeParse(value);
  refuse(source, [...known, ...(result.error?.issues ?? [])]);
  return result.data;
}

function refuse(source: Source, issues: readonly z.core.$ZodIssue[]): void {
  if (issues.length > 0) throw validationError(source, issues);
}

function refuseUnstorable(source: Source, value: unknown): void {
  const key = findUnstorable(value);
  if (key === null) return;
  throw fieldError(source, [
    { key, message: 'must not contain a NUL character or half of a surrogate pair' },
  ]);
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** UUIDs are case-insensitive; stored ones are in lower case. */
function lowerCaseIds(params: unknown): unknown {
  if (typeof params !== 'object' || params === null) return params;
  return Object.fromEntries(
    Object.entries(params).map(([key, value]) => [
      key,
      typeof value === 'string' && uuid.test(value) ? value.toLowerCase() : value,
    ]),
  );
}
