import { expect, it } from 'vitest';
import { DueQueue } from './due-queue.ts';

it('returns the earliest due first, whatever the order of insertion', () => {
  const queue = new DueQueue<{ dueAtMs: number }>();
  const times = Array.from({ length: 500 }, (_, index) => (index * 7919) % 503);
  const out: number[] = [];
  for (const [index, dueAtMs] of times.entries()) {
    queue.add({ dueAtMs });
    // Some leave in between; they are the smallest at that time.
    if (index % 5 === 4) {
      const first = queue.first;
      expect(queue.takeFirst()).toBe(first);
      if (first) out.push(first.dueAtMs);
    }
  }
  const rest: number[] = [];
  for (let next = queue.takeFirst(); next; next = queue.takeFirst()) rest.push(next.dueAtMs);
  expect(rest).toEqual(rest.toSorted((left, right) => left - right));
  const byTime = (left: number, right: number) => left - right;
  expect([...out, ...rest].toSorted(byTime)).toEqual(times.toSorted(byTime));
  expect(queue.first).toBeUndefined();
});

it('is empty once cleared', () => {
  const queue = new DueQueue<{ dueAtMs: number }>();
  queue.add({ dueAtMs: 1 });
  queue.clear();
  expect(queue.takeFirst()).toBeUndefined();
});
