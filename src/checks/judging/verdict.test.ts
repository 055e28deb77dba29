import { describe, expect, it } from 'vitest';
import { failure } from '../contract/failure.ts';
import type { EvaluatedAssertion } from './assertion.ts';
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

  it('ignores limits that are null', () => {
    const limits = { degradedResponseTime: null, maxResponseTime: null };
    expect(judge({ ...input, ...limits, responseTimeMs: 29_999 })).toMatchObject({
      failure: undefined,
      isDegraded: false,
      overMaxResponseTime: false,
    });
  });

  it('does not call a failed run degraded', () => {
    const verdict = judge({ ...input, responseTimeMs: 4000, assertions: [failed] });
    expect(verdict).toMatchObject({
      isDegraded: false,
      failure: { code: 'ASSERTION_FAILED', owner: 'target' },
    });
  });

  const late: EvaluatedAssertion = {
    ...failed,
    source: 'RESPONSE_TIME',
    property: '',
    comparison: 'LESS_THAN',
    target: '80',
    actual: 100,
  };

  it.each<[string, Partial<VerdictInput>, number | undefined]>([
    ['nothing', {}, undefined],
    ['the maximum', { responseTimeMs: 5200 }, 200],
    ['the degraded limit', { responseTimeMs: 3001 }, 1],
    ['an assertion on the time', { assertions: [late] }, 20],
    ['several limits', { responseTimeMs: 5200, assertions: [{ ...late, actual: 5200 }] }, 5120],
    ['another assertion', { assertions: [failed] }, undefined],
    ['a limit and another assertion', { responseTimeMs: 5200, assertions: [failed] }, undefined],
    [
      'an assertion that the time is long',
      { assertions: [{ ...late, comparison: 'GREATER_THAN' }] },
      undefined,
    ],
    [
      'the operation and a limit',
      { responseTimeMs: 5200, operationFailure: failure('STATUS_UNEXPECTED', 'x') },
      undefined,
    ],
  ])('states the excess time if the result depended on %s', (_what, changes, excessMs) => {
    expect(judge({ ...input, ...changes }).timeExcessMs).toBe(excessMs);
  });

  it.each([
    [100, true, undefined],
    [3100, true, undefined],
    [5200, false, 200],
  ])(
    'keeps a run at %i ms degraded that is degraded for another reason: %s',
    (responseTimeMs, isDegraded, timeExcessMs) => {
      expect(judge({ ...input, responseTimeMs, isDegraded: true })).toMatchObject({
        isDegraded,
        timeExcessMs,
      });
    },
  );

  it('has a message for every problem', () => {
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
