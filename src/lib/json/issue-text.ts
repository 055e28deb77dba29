import type { z } from 'zod';
import { isAboutMissingValue, isZodsOwn } from './foreign-texts.ts';

/** Issues of zod as texts for people. */

type Issue = z.core.$ZodIssue;
export const maxKeyLength = 200;

/**
 * Replaces a failed union by the problems of the one branch whose outer form matches: a bad item of a list that could
 * also have been a single word is the item's problem. Without a matching branch it stays one problem.
 */
export function innermostIssues(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const fitting = issue.errors.find(
    (issues) => issues.length > 0 && issues.every(({ path }) => path.length > 0),
  );
  if (!fitting) return [issue];
  return fitting
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue)
    .flatMap(innermostIssues);
}

/** The field of an issue as a dotted path; empty for the whole value. */
export function keysOf(issue: Issue): string[] {
  // A field may be named "".
  return issue.path.length === 0 ? [] : [issue.path.map(String).join('.').slice(0, maxKeyLength)];
}

/** An issue as a predicate: `must be one of [GET, POST]`, `is required`. */
export function problemOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined && isAboutMissingValue(issue.message)
        ? 'is required'
        : `must be ${article(issue.expected)}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of [${issue.values.map(String).join(', ')}]`;
    case 'too_small':
      return `${bound(issue.origin)} ${issue.inclusive === false ? 'more than' : 'at least'} ${String(issue.minimum)}${unit(issue.origin)}`;
    case 'too_big':
      return `${bound(issue.origin)} ${issue.inclusive === false ? 'less than' : 'at most'} ${String(issue.maximum)}${unit(issue.origin)}`;
    case 'invalid_format':
      return isZodsOwn(issue.message) ? `must be a valid ${issue.format}` : issue.message;
    case 'custom':
      return issue.message;
    case 'invalid_union':
      return `is not one of the allowed forms${unionProblems(issue.errors)}`;
    default:
      return issue.message;
  }
}

function unionProblems(branches: readonly (readonly Issue[])[]): string {
  const problems = branches.flatMap((issues) => issues.slice(0, 1).map(problemOf));
  return problems.length === 0 ? '' : `: ${[...new Set(problems)].join(', or ')}`;
}

function article(expected: string): string {
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

function bound(origin: string): string {
  return origin === 'string' || origin === 'array' ? 'must have' : 'must be';
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' items' : '';
}
