import { type FailureCode, failure, resultFlags } from '@picket/checks/contract/failure.ts';
import type { Outcome } from '@picket/checks/contract/outcome.ts';
import { describe, expect, it } from 'vitest';
import { agentLag, isSpoilt, isTimingDoubtful, starvedOutcome } from './starvation.ts';

function outcome(fields: Partial<Outcome<null>> = {}): Outcome<null> {
  return {
    responseTimeMs: 100,
    isDegraded: false,
    overMaxResponseTime: false,
    errorMessages: [],
    detail: null,
    ...fields,
  };
}
const failed = (code: FailureCode, fields: Partial<Outcome<null>> = {}) =>
  outcome({ failure: failure(code, 'x'), errorMessages: ['x'], ...fields });
const kernel = { clock: 'kernel', overheadMs: 0, lagMs: 0 } as const;
/** A failure of a target that kept the thread busy. */
const busy = (code: FailureCode, workMs: number) => failed(code, { measurement: { ...kernel, workMs } });
const event = { clock: 'event', overheadMs: 0, lagMs: 0 } as const;

describe('doubt about a timing', () => {
  it.each<[string, Partial<Outcome<null>>, number, boolean]>([
    ['a lag of 5 ms', {}, 5, false],
    ['a lag above 5 ms', {}, 5.001, true],
    ['5 % of a long time', { responseTimeMs: 1000 }, 50, false],
    ['more than 5 % of a long time', { responseTimeMs: 1000 }, 50.1, true],
    ['a lag with stamps of events', { measurement: event }, 6, true],
    ['a lag with stamps of the kernel', { measurement: kernel }, 1000, false],
    ['stamps of the kernel that may be off by 5 ms', { measurement: { ...kernel, doubtMs: 5 } }, 0, false],
    ['stamps of the kernel that may be off by more', { measurement: { ...kernel, doubtMs: 5.1 } }, 0, true],
    ['by less than 5 %', { measurement: { ...kernel, doubtMs: 49 }, responseTimeMs: 1000 }, 0, false],
  ])('%s', (_what, fields, lagMs, isDoubtful) => {
    expect(isTimingDoubtful(outcome(fields), lagMs)).toBe(isDoubtful);
  });

  it('uses the larger of the values that the thread and the runner noticed', () => {
    expect(agentLag(outcome({ measurement: { ...event, lagMs: 7 } }), { lagMs: 3, awayMs: 0 }).lagMs).toBe(7);
    expect(agentLag(outcome({ measurement: { ...event, lagMs: 7 } }), { lagMs: 9, awayMs: 0 }).lagMs).toBe(9);
    expect(agentLag(outcome(), { lagMs: 9, awayMs: 0 }).lagMs).toBe(9);
  });
});

describe('a verdict that the agent may have caused', () => {
  const slow = { responseTimeMs: 5200, timeExcessMs: 200 };
  it.each<[string, Outcome<null>, number, number, boolean]>([
    ['over the limit by less than the lag', failed('MAX_RESPONSE_TIME_EXCEEDED', slow), 300, 5300, true],
    [
      'over the limit by exactly the lag',
      failed('MAX_RESPONSE_TIME_EXCEEDED', { responseTimeMs: 100, timeExcessMs: 20 }),
      20,
      100,
      true,
    ],
    ['over the limit by more than the lag', failed('MAX_RESPONSE_TIME_EXCEEDED', slow), 199, 5300, false],
    [
      'over the limit with a lag below doubt',
      failed('MAX_RESPONSE_TIME_EXCEEDED', { responseTimeMs: 5001, timeExcessMs: 1 }),
      200,
      5300,
      false,
    ],
    [
      'over the limit by the clock of the kernel',
      failed('MAX_RESPONSE_TIME_EXCEEDED', { ...slow, measurement: kernel }),
      3000,
      5300,
      false,
    ],
    [
      'over the limit by less than the kernel’s stamps may be off',
      failed('MAX_RESPONSE_TIME_EXCEEDED', { ...slow, measurement: { ...kernel, doubtMs: 300 } }),
      0,
      5300,
      true,
    ],
    ['degraded by less than the lag', outcome({ isDegraded: true, ...slow }), 300, 5300, true],
    ['degraded by more than the lag', outcome({ isDegraded: true, ...slow }), 100, 5300, false],
    ['an assertion that is not about time', failed('ASSERTION_FAILED'), 5000, 5300, false],
    ['a time-out with a lag of a fifth', failed('RESPONSE_TIMEOUT'), 6000, 30_000, true],
    ['a time-out with less', failed('RESPONSE_TIMEOUT'), 5999, 30_000, false],
    ['a short time-out with 99 ms', failed('CONNECTION_TIMEOUT'), 99, 100, false],
    ['a reset after a second away', failed('CONNECTION_RESET'), 1000, 2000, true],
    ['a reset after less', failed('CONNECTION_RESET'), 999, 2000, false],
    ['a refusal', failed('CONNECTION_REFUSED'), 9000, 9000, false],
    ['a status', failed('STATUS_UNEXPECTED'), 9000, 9000, false],
    ['a pass', outcome(), 9000, 9000, false],
    ['a time-out of which the target made the work', busy('RESPONSE_TIMEOUT', 5000), 9000, 30_000, false],
    ['a time-out of which it made a part', busy('RESPONSE_TIMEOUT', 1000), 9000, 30_000, true],
    ['a reset while the target’s work was done', busy('CONNECTION_RESET', 500), 1200, 2000, false],
    [
      'over the limit by the target’s own work',
      failed('MAX_RESPONSE_TIME_EXCEEDED', { ...slow, measurement: { ...event, workMs: 250 } }),
      300,
      5300,
      false,
    ],
  ])('%s', (_what, found, lagMs, durationMs, expected) => {
    expect(isSpoilt(found, { lagMs, awayMs: lagMs, durationMs })).toBe(expected);
  });

  it('is not a time-out of a thread that was late often, but never for long', () => {
    const lateness = { lagMs: 9, awayMs: 0, durationMs: 30_000 };
    expect(isSpoilt(failed('RESPONSE_TIMEOUT'), lateness)).toBe(false);
  });

  it('is a time-out of a thread that got a twentieth of a processor', () => {
    const lateness = { lagMs: 95, awayMs: 28_000, durationMs: 30_000 };
    expect(isSpoilt(failed('RESPONSE_TIMEOUT'), lateness)).toBe(true);
    const over = failed('MAX_RESPONSE_TIME_EXCEEDED', { responseTimeMs: 900, timeExcessMs: 400 });
    expect(isSpoilt(over, { lagMs: 95, awayMs: 700, durationMs: 900 })).toBe(true);
  });

  it.each<[string, FailureCode, number, number, boolean]>([
    // Two busy cores: late by at most a quarter of a second, but for two thirds of the total time.
    ['silence for the whole limit', 'RESPONSE_TIMEOUT', 29_900, 263, false],
    ['a dropped SYN', 'CONNECTION_TIMEOUT', 29_990, 263, false],
    ['a silent name server', 'DNS_NO_ANSWER', 29_950, 263, false],
    ['a total loss', 'NO_REPLY', 30_000, 263, false],
    ['a request that left after most of the limit', 'RESPONSE_TIMEOUT', 10_000, 263, true],
    ['silence while the agent itself stood still', 'RESPONSE_TIMEOUT', 29_900, 20_000, true],
  ])(
    '%s counts by the time at which a response could have been received',
    (_what, code, waitedMs, lagMs, expected) => {
      const silent = failed(code, { measurement: { ...event, waitedMs } });
      expect(isSpoilt(silent, { lagMs, awayMs: 20_000, durationMs: 30_000 })).toBe(expected);
    },
  );

  it('is not a reset by a peer that never waited for the agent', () => {
    const reset = failed('CONNECTION_RESET', { measurement: { ...kernel, waitedMs: 1950 } });
    expect(isSpoilt(reset, { lagMs: 1500, awayMs: 1500, durationMs: 2000 })).toBe(false);
  });

  it('becomes the agent’s own if it failed, and is dropped if it was degraded', () => {
    const starved = starvedOutcome(failed('RESPONSE_TIMEOUT', { overMaxResponseTime: true }), 6000);
    expect(starved).toMatchObject({
      failure: { code: 'AGENT_STARVED', owner: 'agent' },
      isDegraded: false,
      overMaxResponseTime: false,
    });
    expect(resultFlags(starved.failure)).toEqual({ hasErrors: true, hasFailures: false });
    expect(starved.errorMessages).toEqual([starved.failure?.message]);
    expect(starvedOutcome(outcome({ isDegraded: true }), 6000)).toEqual(outcome());
    expect(starvedOutcome(outcome({ isDegraded: null }), 6000).isDegraded).toBeNull();
  });
});
