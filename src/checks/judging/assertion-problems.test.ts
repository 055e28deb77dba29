import { expect, it } from 'vitest';
import type { Assertion } from './assertion.ts';
import { assertionProblems } from './assertion-problems.ts';

const problems = (assertion: Partial<Assertion>) =>
  assertionProblems([
    { source: 'JSON_BODY', property: '', comparison: 'EQUALS', target: '', regex: '', ...assertion },
  ]).map(({ path, message }) => `${path.at(-1)} ${message}`);

it('a schema is checked when it is written, once its templates are known', () => {
  const comparison = 'MATCHES_SCHEMA';
  expect(problems({ comparison, target: '{"type":"object"}' })).toEqual([]);
  expect(problems({ comparison, target: '{{SCHEMA}}' })).toEqual([]);
  expect(problems({ comparison, target: '{"type":"text"}' })).toEqual([
    expect.stringMatching(
      /^target cannot be used: the JSON schema cannot be used: \/type must be one or more of/,
    ),
  ]);
  expect(problems({ comparison, target: '{}', source: 'TEXT_BODY' })).toEqual([
    'comparison cannot be used: TEXT_BODY is not JSON, and a schema describes JSON',
  ]);
});

it('an age needs a date and a unit', () => {
  const comparison = 'AGE_LESS_THAN';
  expect(problems({ comparison, target: '10m', property: '$.at' })).toEqual([]);
  expect(problems({ comparison, target: '10m', property: 'Last-Modified', source: 'HEADERS' })).toEqual([]);
  expect(problems({ comparison, target: '10' })).toEqual([
    'target cannot be used: "10" is not an age: write a number and ms, s, m, h or d, such as 10m',
  ]);
  expect(problems({ comparison, target: '10m', source: 'HEADERS' })).toEqual([
    'comparison cannot be used: name the header with the date as its property',
  ]);
  expect(problems({ comparison, target: '1s', source: 'STATUS_CODE' })).toEqual([
    'comparison cannot be used: STATUS_CODE has no date, and only dates have an age',
  ]);
});
