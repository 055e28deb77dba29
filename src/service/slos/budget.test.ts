import { coverageOf, type SlotOutcome } from '@picket/protocol/runs/coverage.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { burnRate, errorBudget, sloState } from './budget.ts';

const measured = (runCount: number, failed: number, others: [SlotOutcome, number][] = []) => ({
  runCount,
  passedCount: runCount - failed,
  coverage: coverageOf([['evaluated', runCount], ...others]),
});
const left = (target: number, runs: ReturnType<typeof measured>) => {
  const budget = errorBudget(target, runs);
  return [budget.leftPercent, budget.leftPercentAtWorst, sloState(budget)];
};

it.each([
  ['nothing failed', 99.9, measured(1000, 0), [100, 100, 'MET']],
  ['exactly the budget', 99.9, measured(1000, 1), [0, 0, 'MET']],
  ['twice the budget', 99.9, measured(1000, 2), [-100, -100, 'BREACHED']],
  ['half of the budget', 99, measured(1000, 5), [50, 50, 'MET']],
  ['a gap that may hide anything', 99, measured(900, 0, [['missed:no-agent', 100]]), [100, -900, 'UNPROVEN']],
  ['a gap that the budget could bear', 90, measured(950, 0, [['error', 50]]), [100, 50, 'MET']],
  [
    'maintenance, what was cancelled and what is open',
    99,
    measured(100, 0, [
      ['missed:paused-by-maintenance', 50],
      ['cancelled:deactivated', 9],
      ['open', 1],
    ]),
    [100, 100, 'MET'],
  ],
  ['nothing measured', 99, measured(0, 0, [['missed:no-agent', 10]]), [null, -9900, 'UNKNOWN']],
  ['nothing at all', 99, measured(0, 0), [null, null, 'UNKNOWN']],
])('%s', (_name, target, runs, expected) => {
  expect(left(target, runs)).toEqual(expected);
});

it('burns at 1 if the budget lasts exactly for its window', () => {
  expect(burnRate(99.9, { runCount: 1000, passedCount: 999 })).toBe(1);
  expect(burnRate(99, { runCount: 100, passedCount: 0 })).toBe(100);
  expect(burnRate(99, { runCount: 5, passedCount: 5 })).toBe(0);
  expect(burnRate(99, { runCount: 0, passedCount: 0 })).toBeNull();
});

it('never has more left in the worst case, and either case can be a breach', () => {
  const runs = fc
    .tuple(fc.nat(5000), fc.nat(5000), fc.nat(500))
    .map(([all, failed, missed]) => measured(all, Math.min(all, failed), [['missed:no-agent', missed]]));
  const targets = fc.integer({ min: 1, max: 9999 }).map((hundredths) => hundredths / 100);
  fc.assert(
    fc.property(targets, runs, (target, one) => {
      const budget = errorBudget(target, one);
      if (budget.leftPercent === null) return;
      expect(budget.leftPercentAtWorst).toBeLessThanOrEqual(budget.leftPercent + 1e-6);
      const isBreached = (100 * one.passedCount) / one.runCount < target - 1e-6;
      if (isBreached) expect(sloState(budget)).toBe('BREACHED');
    }),
  );
});
