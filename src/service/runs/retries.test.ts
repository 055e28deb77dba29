import { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { failure } from '@picket/checks/contract/failure.ts';
import { describe, expect, it } from 'vitest';
import { decideRetry, type FailedAttempt } from './retries.ts';

const down = failure('CONNECTION_REFUSED', 'refused');
const wrong = failure('ASSERTION_FAILED', 'expected 200');
const ours = failure('RUNNER_CRASHED', 'crashed');

const first: FailedAttempt = {
  failure: down,
  attempt: 0,
  firstStartMs: 1_000_000,
  nowMs: 1_000_000,
  retryStrategy: null,
  doubleCheck: false,
  runParallel: false,
  location: 'here',
  otherLocations: ['there', 'elsewhere'],
};
const strategy = (fields: object) => RetryStrategy.parse(fields);
/** Waits in seconds before each retry, for runs that take no time, until retries end. */
function waits(fields: object, extra: Partial<FailedAttempt> = {}): number[] {
  const seconds: number[] = [];
  let nowMs = first.nowMs;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const retry = decideRetry({ ...first, ...extra, attempt, nowMs, retryStrategy: strategy(fields) });
    if (!retry) break;
    seconds.push((retry.readyAtMs - nowMs) / 1000);
    nowMs = retry.readyAtMs;
  }
  return seconds;
}

it('never retries a run that crashes threads of agents', () => {
  const crashes = failure('CHECK_CRASHES_RUNNER', 'ended twice');
  expect(waits({ maxRetries: 3 }, { failure: crashes })).toEqual([]);
  expect(decideRetry({ ...first, failure: crashes, doubleCheck: true })).toBeNull();
  expect(waits({ maxRetries: 3 }, { failure: ours })).toEqual([60, 60, 60]);
});

describe('delay and number of retries', () => {
  it.each([
    ['the defaults: fixed, 60 s, twice', {}, [60, 60]],
    ['FIXED', { type: 'FIXED', baseBackoffSeconds: 5, maxRetries: 3 }, [5, 5, 5]],
    ['LINEAR', { type: 'LINEAR', baseBackoffSeconds: 5, maxRetries: 4 }, [5, 10, 15, 20]],
    ['EXPONENTIAL', { type: 'EXPONENTIAL', baseBackoffSeconds: 5, maxRetries: 3 }, [5, 25, 125]],
    [
      'EXPONENTIAL of a fraction',
      { type: 'EXPONENTIAL', baseBackoffSeconds: 0.5, maxRetries: 2 },
      [0.5, 0.25],
    ],
    ['EXPONENTIAL of 0', { type: 'EXPONENTIAL', baseBackoffSeconds: 0, maxRetries: 2 }, [0, 0]],
    ['SINGLE_RETRY', { type: 'SINGLE_RETRY', baseBackoffSeconds: 30 }, [30]],
    ['up to ten', { baseBackoffSeconds: 0, maxRetries: 10 }, Array(10).fill(0)],
    [
      'a duration that ends before the second retry',
      { baseBackoffSeconds: 60, maxRetries: 10, maxDurationSeconds: 119 },
      [60],
    ],
    [
      'a duration that ends with the second retry',
      { baseBackoffSeconds: 60, maxRetries: 10, maxDurationSeconds: 120 },
      [60, 60],
    ],
    ['no duration at all', { baseBackoffSeconds: 0, maxRetries: 2, maxDurationSeconds: 0 }, [0, 0]],
    ['a back-off beyond the duration', { baseBackoffSeconds: 600, maxDurationSeconds: 599 }, []],
  ])('%s', (_name, fields, expected) => {
    expect(waits(fields)).toEqual(expected);
  });

  it('counts the duration of runs towards the limit', () => {
    const retryStrategy = strategy({ baseBackoffSeconds: 10, maxDurationSeconds: 30 });
    expect(decideRetry({ ...first, nowMs: 1_020_000, retryStrategy })).not.toBeNull();
    expect(decideRetry({ ...first, nowMs: 1_020_001, retryStrategy })).toBeNull();
  });
});

describe('conditions of retries', () => {
  it.each([
    ['neither strategy nor doubleCheck', { retryStrategy: null, doubleCheck: false }, false],
    ['doubleCheck', { retryStrategy: null, doubleCheck: true }, true],
    ['doubleCheck, second failure', { retryStrategy: null, doubleCheck: true, attempt: 1 }, false],
    [
      'a strategy outdoes doubleCheck',
      { retryStrategy: strategy({ maxRetries: 2 }), doubleCheck: true, attempt: 1 },
      true,
    ],
    ['a fault of ours', { retryStrategy: strategy({}), failure: ours }, true],
    [
      'only network errors: no answer',
      { retryStrategy: strategy({ onlyOn: ['NETWORK_ERROR'] }), failure: down },
      true,
    ],
    [
      'only network errors, as a single word',
      { retryStrategy: strategy({ onlyOn: 'NETWORK_ERROR' }), failure: wrong },
      false,
    ],
    [
      'only network errors: a wrong answer',
      { retryStrategy: strategy({ onlyOn: ['NETWORK_ERROR'] }), failure: wrong },
      false,
    ],
    [
      'only network errors: a fault of ours',
      { retryStrategy: strategy({ onlyOn: ['NETWORK_ERROR'] }), failure: ours },
      false,
    ],
  ])('%s', (_name, fields, isRetried) => {
    expect(decideRetry({ ...first, ...fields }) !== null).toBe(isRetried);
  });
});

describe('where', () => {
  const elsewhere = { retryStrategy: strategy({ sameRegion: false }) };

  it.each([
    ['the same location by default', { retryStrategy: strategy({}) }, 0, 'here'],
    ['another one at random', elsewhere, 0, 'there'],
    ['another one at random, the last', elsewhere, 0.999, 'elsewhere'],
    ['the same one when there is no other', { ...elsewhere, otherLocations: [] }, 0, 'here'],
    ['the same one when the check runs in parallel', { ...elsewhere, runParallel: true }, 0, 'here'],
    ['doubleCheck goes elsewhere', { doubleCheck: true }, 0, 'there'],
  ])('%s', (_name, fields, random, location) => {
    expect(decideRetry({ ...first, ...fields }, () => random)?.location).toBe(location);
  });

  it('runs the immediate retry of doubleCheck at once', () => {
    expect(decideRetry({ ...first, doubleCheck: true })?.readyAtMs).toBe(first.nowMs);
  });
});
