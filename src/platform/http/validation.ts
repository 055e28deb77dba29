import { AppError, type ErrorDetails } from '@picket/lib/errors.ts';
import { isAboutMissingValue, isZodsOwn } from '@picket/lib/json/foreign-texts.ts';
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Source = NonNullable<ErrorDetails['validation']>['source'];

/** Longer lists of problems do not help and would make a response as large as the request. */
const maxProblems = 20;
const maxKeyLength = 200;

/**
 * Creates the error for values that a schema refuses: names every bad field, as a dotted path, and its allowed values.
 */
export function validationError(source: Source, issues: readonly Issue[]): AppError {
  const all = issues.flatMap(withoutUnions);
  const keys = [...new Set(all.flatMap(keysOf))];
  const problems = all.slice(0, maxProblems).flatMap((issue) => {
    return keysOf(issue).map((key) => ({ key, message: problemOf(issue) }));
  });
  return new AppError('VALIDATION_FAILED', describeIssues(issues), {
    validation: { source, keys: keys.slice(0, 1000), problems },
  });
}

/** Creates the error for a rule outside the schemas. */
export function fieldError(source: Source, problems: readonly { key: string; message: string }[]): AppError {
  return new AppError(
    'VALIDATION_FAILED',
    problems.map(({ key, message }) => `"${key}" ${message}`).join('; '),
    { validation: { source, keys: problems.map(({ key }) => key), problems } },
  );
}

/** Describes issues as one sentence: `"frequency" must be one of [0, 1, 2]; "name" is required`. */
export function describeIssues(issues: readonly Issue[], prefix = ''): string {
  const all = issues.flatMap(withoutUnions);
  const shown = all.slice(0, maxProblems).map((issue) => {
    const keys = prefix === '' ? keysOf(issue) : [prefix, ...keysOf(issue)];
    return keys.length === 0 ? `The value ${problemOf(issue)}` : `"${keys.join('.')}" ${problemOf(issue)}`;
  });
  const more = all.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/**
 * Replaces a failed union by the problems of the one branch whose outer form matches: a bad item of a list that could
 * also have been a single word is the item's problem. Without a matching branch it stays one problem.
 */
function withoutUnions(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const fitting = issue.errors.find(
    (issues) => issues.length > 0 && issues.every(({ path }) => path.length > 0),
  );
  if (!fitting) return [issue];
  return fitting
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue)
    .flatMap(withoutUnions);
}

function keysOf(issue: Issue): string[] {
  // A field may be named "".
  return issue.path.length === 0 ? [] : [issue.path.map(String).join('.').slice(0, maxKeyLength)];
}

function problemOf(issue: Issue): string {
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

/**
 * Returns the dotted path of the first string (or key) that not every database can store, or null: NUL characters, and
 * unpaired surrogates, which are not characters.
 */
export function findUnstorable(value: unknown): string | null {
  const open: { value: unknown; path: string }[] = [{ value, path: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value === 'string' && !isStorable(next.value)) return next.path;
    if (typeof next.value !== 'object' || next.value === null) continue;
    for (const [key, child] of Object.entries(next.value)) {
      const path = next.path === '' ? key : `${next.path}.${key}`.slice(0, maxKeyLength);
      if (!isStorable(key)) return path.replaceAll('\u0000', '\uFFFD').toWellFormed();
      if (typeof child === 'string' || (typeof child === 'object' && child !== null)) {
        open.push({ value: child, path });
      }
    }
  }
  return null;
}

function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}
