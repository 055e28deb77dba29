import { findUnknownFields } from '@picket/lib/names/unknown-fields.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';

type Issue = z.core.$ZodIssue;

/**
 * Returns an issue for each field of a body that its route does not know. Fields of the response count as known: a
 * client may change an object it has read and send all of it back. The agent protocol is exempt, as its two sides may
 * be of different builds.
 */
export function unknownFieldIssues(route: Route, body: unknown): Issue[] {
  if (
    route.credential === 'location' ||
    route.isBodyRaw ||
    route.keptBodyBytes !== undefined ||
    route.bodyContentType
  ) {
    return [];
  }
  if (!route.body && !route.documentedBody) return needlessBodyIssues(body);
  const written = route.documentedBody ?? route.body ?? z.object({});
  const shown = route.documentedResponse ?? route.response;
  return issuesOf(
    findUnknownFields([written, ...(shown ? [named(shown)] : [])], body, new Set(route.ignoredFields)),
    'field',
  );
}

/** Issues of a body sent to an operation without one. Some clients always send a body; an empty one is accepted. */
function needlessBodyIssues(body: unknown): Issue[] {
  if (body === undefined || body === null) return [];
  if (typeof body === 'object' && !Array.isArray(body)) {
    return issuesOf(findUnknownFields([z.object({})], body), 'field');
  }
  return [
    { code: 'custom', path: [], input: undefined, message: 'is not allowed: this operation has no body' },
  ];
}

/** The same for a query. Links to public pages and pings may carry foreign parameters. */
export function unknownParameterIssues(route: Route, query: unknown): Issue[] {
  if (route.credential !== 'account') return [];
  return issuesOf(findUnknownFields([route.query ?? z.object({})], query), 'parameter');
}

/** Limits an open response schema to its named fields. */
function named(shown: z.ZodType): z.ZodType {
  return shown instanceof z.ZodObject ? z.object(shown.shape) : shown;
}

function issuesOf(unknown: ReturnType<typeof findUnknownFields>, kind: 'field' | 'parameter'): Issue[] {
  return unknown.map(({ path, nearest }) => ({
    code: 'custom',
    path: [...path],
    input: undefined,
    message: `is not a ${kind} of this operation${nearest === undefined ? '' : `: did you mean "${nearest}"?`}`,
  }));
}

/** Maximum depth of names in a body: `resources.0.payload.config.name`. */
const deepest = 6;

/**
 * Returns an issue for each blank or invisible name in a body: it would appear empty on pages and in alerts. Only
 * written values are checked; responses show what an older version has stored.
 */
export function blankNameIssues(route: Route, body: unknown): Issue[] {
  if (route.credential !== 'account' || route.isBodyRaw || route.bodyContentType) return [];
  return blankNames(body, []).map((path) => ({
    code: 'custom',
    path,
    input: undefined,
    message: 'must not be blank',
  }));
}

/** Blanks and invisible characters: zero-width spaces, joiners, fillers, marks of direction, blank Braille. */
const invisible = /^[\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+$/u;

function blankNames(value: unknown, path: string[]): string[][] {
  if (typeof value !== 'object' || value === null || path.length > deepest) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'name' && typeof inner === 'string') {
      return invisible.test(inner) ? [[...path, key]] : [];
    }
    return blankNames(inner, [...path, key]);
  });
}
