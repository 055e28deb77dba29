import { describe, expect, it } from 'vitest';
import type { EvaluatedAssertion } from './assertion.ts';
import { failure } from './failure.ts';
import { judge, type VerdictInput } from './verdict.ts';

const input: VerdictInput = {
  responseTimeMs: 100,
  degradedResponseTime: 3000,
  maxResponseTime: 5000,
  assertions: [],
};
const failed: EvaluatedAssertion = {
  source: 'JSON_BODY',
  property: '$.a',
  comparison: 'EQUALS',
  target: '1',
  regex: '',
  actual: { b: 2 },
  error: 'expected 1',
};

describe('the verdict', () => {
  it.each([
    [3000, false, false],
    [3001, true, false],
    [5000, true, false],
    [5001, false, true],
  ])('at %i ms: degraded %s, over the maximum %s', (responseTimeMs, isDegraded, overMaxResponseTime) => {
    const verdict = judge({ ...input, responseTimeMs });
    expect(verdict).toMatchObject({ isDegraded, overMaxResponseTime });
    expect(verdict.failure?.code).toBe(overMaxResponseTime ? 'MAX_RESPONSE_TIME_EXCEEDED' : undefined);
  });

  it('knows no limit that is null', () => {
    const limits = { degradedResponseTime: null, maxResponseTime: null };
    expect(judge({ ...input, ...limits, responseTimeMs: 29_999 })).toMatchObject({
      failure: undefined,
      isDegraded: false,
      overMaxResponseTime: false,
    });
  });

  it('calls nothing degraded that has failed', () => {
    const verdict = judge({ ...input, responseTimeMs: 4000, assertions: [failed] });
    expect(verdict).toMatchObject({
      isDegraded: false,
      failure: { code: 'ASSERTION_FAILED', owner: 'target' },
    });
  });

  it('gives a message to everything that went wrong', () => {
    const verdict = judge({
      ...input,
      responseTimeMs: 6000,
      assertions: [failed, { ...failed, error: null }],
      operationFailure: failure('STATUS_UNEXPECTED', 'Unexpected status 503'),
    });
    expect(verdict.failure?.code).toBe('STATUS_UNEXPECTED');
    expect(verdict.errorMessages).toEqual([
      'Unexpected status 503',
      'Assertion failed: JSON_BODY $.a EQUALS 1, received {"b":2}',
      'Response time 6000ms exceeded 5000ms',
    ]);
  });
});
