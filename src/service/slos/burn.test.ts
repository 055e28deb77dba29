import { type SloDefinition, SloInput } from '@picket/protocol/results/slo.ts';
import { expect, it } from 'vitest';
import { alertingRate, burningWindow, burnText, burnWindows, isCalm, type LastRuns } from './burn.ts';

const [hour, sixHours] = burnWindows;
const slo = (fields: object = {}): SloDefinition =>
  SloInput.parse({ name: 'shop', tags: ['shop'], target: 99.9, ...fields });
/** Runs in each of the last minutes: the total, and how many of them failed. */
const lastRuns = (
  runs: Readonly<Record<5 | 30 | 60 | 360, readonly [all: number, failed: number]>>,
): LastRuns =>
  Object.fromEntries(
    Object.entries(runs).map(([minutes, [all, failed]]) => [
      minutes,
      { runCount: all, passedCount: all - failed },
    ]),
  ) as unknown as LastRuns;
const quiet = { 5: [5, 0], 30: [30, 0], 60: [60, 0], 360: [360, 0] } as const;

it('burns by 2 % of a month in an hour, 5 % in six, and never below twice the even rate', () => {
  expect([alertingRate(slo(), hour), alertingRate(slo(), sixHours)]).toEqual([14.4, 6]);
  expect(alertingRate(slo({ windowDays: 1 }), hour)).toBe(2);
  expect(alertingRate(slo({ burnAlert: { percentInHour: 10 } }), hour)).toBe(72);
});

it('burns when both the long window and its end spend too fast', () => {
  const both = { ...quiet, 5: [5, 3], 60: [60, 3], 360: [360, 3] } as const;
  expect(burningWindow(slo(), lastRuns(both))?.name).toBe('HOUR');
  // A burn that is over by now is not an alert.
  expect(burningWindow(slo(), lastRuns({ ...both, 5: [5, 0] }))).toBeUndefined();
  const slow = { 5: [5, 0], 30: [30, 1], 60: [60, 1], 360: [360, 4] } as const;
  expect(burningWindow(slo(), lastRuns(slow))?.name).toBe('SIX_HOURS');
});

it('does not burn with fewer failed runs than the objective requires, nor without runs', () => {
  const two = lastRuns({ ...quiet, 5: [5, 2], 60: [60, 2], 360: [360, 2] });
  expect(burningWindow(slo(), two)).toBeUndefined();
  expect(burningWindow(slo({ burnAlert: { minFailedRuns: 2 } }), two)?.name).toBe('HOUR');
  const none = lastRuns({ 5: [0, 0], 30: [0, 0], 60: [9, 9], 360: [9, 9] });
  expect(burningWindow(slo(), none)).toBeUndefined();
});

it('is over when the last half hour spends slower than the budget lasts, and never for lack of runs', () => {
  expect(isCalm(slo(), lastRuns({ ...quiet, 60: [60, 30] }))).toBe(true);
  expect(isCalm(slo(), lastRuns({ ...quiet, 30: [30, 1] }))).toBe(false);
  expect(isCalm(slo(), lastRuns({ ...quiet, 30: [0, 0] }))).toBe(false);
});

it('reports what failed and how long the budget lasts', () => {
  const runs = lastRuns({ ...quiet, 5: [5, 5], 60: [60, 12] });
  expect(burnText(slo(), hour, runs, 61.4)).toBe(
    '12 of 60 runs failed in the last hour (5 of 5 runs in the last 5 minutes); the target is 99.9 %. ' +
      'At this rate the budget of 30 days is spent in 3 h 36 min. 61.4 % of the budget is left.',
  );
  expect(burnText(slo(), hour, runs, -3)).toContain('The budget is already overspent.');
});
