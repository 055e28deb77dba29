import { expect, it } from 'vitest';
import { timeBudget } from './time-budget.ts';

const intervalMs = 500;

it('waits five seconds for the last reply if there is time', () => {
  expect(timeBudget({ timeoutMs: 30_000, count: 10, intervalMs }).replyTimeoutMs(30_000)).toBe(5000);
  expect(timeBudget({ timeoutMs: 30_000, count: 50, intervalMs }).replyTimeoutMs(30_000)).toBe(5000);
});

it.each([1, 10, 50])('ends within the limit with %s requests and the slowest allowed lookup', (count) => {
  const budget = timeBudget({ timeoutMs: 30_000, count, intervalMs });
  const replyTimeoutMs = budget.replyTimeoutMs(30_000 - budget.lookupTimeoutMs);
  expect(replyTimeoutMs).toBeGreaterThanOrEqual(1000);
  expect(budget.lookupTimeoutMs + (count - 1) * intervalMs + replyTimeoutMs).toBeLessThanOrEqual(29_900);
});

it('resolves a name even if the limit is too short for all requests', () => {
  const budget = timeBudget({ timeoutMs: 200, count: 10, intervalMs });
  expect(budget.lookupTimeoutMs).toBe(200);
  expect(budget.replyTimeoutMs(200)).toBe(1);
});
