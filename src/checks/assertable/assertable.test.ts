import fc from 'fast-check';
import { expect, it } from 'vitest';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { type AssertableValue, asFast, containedAgain, sameAgain, sameJson } from './assertable.ts';

/** The problems of assertions on the value that they were made of. */
function problems(values: readonly AssertableValue[], sources: Sources): (string | null)[] {
  const assertions = values.map(({ assertion }) => ({ ...assertion, regex: '' }));
  return evaluateAssertions(assertions, sources).flatMap(({ error }) => error ?? []);
}

it('assertions on the values of a document hold for it, whatever its names are', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const text = JSON.stringify({ value });
      const document: unknown = JSON.parse(text);
      const values = sameJson('JSON_BODY', text);
      expect(problems(values, { JSON_BODY: () => ({ kind: 'json', document }) })).toEqual([]);
    }),
  );
});

it('a text that is no JSON, or too long, gives none', () => {
  expect(sameJson('JSON_BODY', 'plain')).toEqual([]);
  expect(sameJson('JSON_BODY', '{"a":')).toEqual([]);
  expect(sameJson('JSON_BODY', `["${'x'.repeat(200_000)}"]`)).toEqual([]);
  expect(sameAgain('x', 'HEADERS', 'x'.repeat(300))).toEqual([]);
});

it('values, texts and times hold again', () => {
  expect(
    problems(sameAgain('Status', 'STATUS_CODE', 200), { STATUS_CODE: () => ({ kind: 'value', value: 200 }) }),
  ).toEqual([]);
  const text = 'ready\nto go';
  expect(
    problems(containedAgain('Response', 'RESPONSE_DATA', text), {
      RESPONSE_DATA: () => ({ kind: 'text', text }),
    }),
  ).toEqual([]);
  expect(asFast(151)[0]?.assertion.target).toBe('400');
  expect(problems(asFast(151), { RESPONSE_TIME: () => ({ kind: 'value', value: 151 }) })).toEqual([]);
});
