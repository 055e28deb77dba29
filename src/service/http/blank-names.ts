import type { z } from 'zod';
import type { Route } from '../../protocol/http/route.ts';

/** How far inside a body there are names: `resources.0.payload.config.name`. */
const deepest = 6;

/**
 * The names in a body that consist of blanks, as issues: on pages and in alerts they would look like nothing.
 * Only what is written is held to it. Answers show what an older version has stored.
 */
export function blankNameIssues(route: Route, body: unknown): z.core.$ZodIssue[] {
  if (route.credential !== 'account' || route.isBodyRaw || route.bodyContentType) return [];
  return blankNames(body, []).map((path) => ({
    code: 'custom',
    path,
    input: undefined,
    message: 'must not be blank',
  }));
}

function blankNames(value: unknown, path: string[]): string[][] {
  if (typeof value !== 'object' || value === null || path.length > deepest) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'name' && typeof inner === 'string') {
      return inner !== '' && inner.trim() === '' ? [[...path, key]] : [];
    }
    return blankNames(inner, [...path, key]);
  });
}
