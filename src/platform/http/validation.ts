import { AppError, type ErrorDetails } from '@picket/lib/errors.ts';
import { innermostIssues, keysOf, maxKeyLength, problemOf } from '@picket/lib/json/issue-text.ts';
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Source = NonNullable<ErrorDetails['validation']>['source'];

/** Longer lists of problems do not help and would make a response as large as the request. */
const maxProblems = 20;

/**
 * Creates the error for values that a schema refuses: names every bad field, as a dotted path, and its allowed values.
 */
export function validationError(source: Source, issues: readonly Issue[]): AppError {
  const all = issues.flatMap(innermostIssues);
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
  const all = issues.flatMap(innermostIssues);
  const shown = all.slice(0, maxProblems).map((issue) => {
    const keys = prefix === '' ? keysOf(issue) : [prefix, ...keysOf(issue)];
    return keys.length === 0 ? `The value ${problemOf(issue)}` : `"${keys.join('.')}" ${problemOf(issue)}`;
  });
  const more = all.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
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
