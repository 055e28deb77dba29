import { findUnknownFields } from '@picket/lib/names/unknown-fields.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';

type Issue = z.core.$ZodIssue;

/**
 * What a body holds that its route does not know, as issues that name each. Fields that the answer has are
 * known, too: what was read can be changed and sent back as a whole. The agent protocol is not held to it, as
 * its two sides may be of different builds.
 */
export function unknownFieldIssues(route: Route, body: unknown): Issue[] {
  if (route.credential === 'location' || route.isBodyRaw || route.isBodyIgnored || route.bodyContentType) {
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

/** What is sent to an operation that takes nothing. Some clients always send a body: an empty one says nothing. */
function needlessBodyIssues(body: unknown): Issue[] {
  if (body === undefined || body === null) return [];
  if (typeof body === 'object' && !Array.isArray(body)) {
    return issuesOf(findUnknownFields([z.object({})], body), 'field');
  }
  return [
    { code: 'custom', path: [], input: undefined, message: 'is not allowed: this operation has no body' },
  ];
}

/** The same of a query. Links to public pages and pings may carry whatever others put there. */
export function unknownParameterIssues(route: Route, query: unknown): Issue[] {
  if (route.credential !== 'account') return [];
  return issuesOf(findUnknownFields([route.query ?? z.object({})], query), 'parameter');
}

/** An answer that may have further fields, as one that has those with a name. */
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

/** How far inside a body there are names: `resources.0.payload.config.name`. */
const deepest = 6;

/**
 * The names in a body that consist of blanks or of what is not seen, as issues: on pages and in alerts they would look like nothing.
 * Only what is written is held to it. Answers show what an older version has stored.
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

/** Blanks, and what is drawn as nothing: zero-width spaces, joiners, fillers, marks of direction, blank Braille. */
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
