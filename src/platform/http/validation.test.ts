import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeIssues, validationError } from './validation.ts';

const issuesOf = (value: unknown) =>
  z.strictObject({ name: z.object({ first: z.string() }).optional() }).safeParse(value).error?.issues ?? [];

it('names each bad field by its path', () => {
  const issues = issuesOf({ name: { first: 1 } });
  expect(validationError('payload', issues).validation?.keys).toEqual(['name.first']);
  expect(describeIssues(issues)).toBe('"name.first" must be a string');
  expect(describeIssues(issues, 'request')).toBe('"request.name.first" must be a string');
  expect(describeIssues(issuesOf(1))).toBe('The value must be an object');
});

it('names a field with an empty name', () => {
  const issues = z.object({ '': z.string() }).safeParse({ '': 1 }).error?.issues ?? [];
  const { message, validation } = validationError('payload', issues);
  expect([message, validation?.keys]).toEqual(['"" must be a string', ['']]);
});
