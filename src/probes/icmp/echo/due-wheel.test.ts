import { expect, it } from 'vitest';
import { DueWheel } from './due-wheel.ts';

const element = (dueAtMs: number) => ({ dueAtMs, slot: -1 });

/** Takes everything that is due at a time. */
function taken(wheel: DueWheel<ReturnType<typeof element>>, nowMs: number): number[] {
  const due: number[] = [];
  for (let some = wheel.take(nowMs); some; some = wheel.take(nowMs)) {
    due.push(...some.map(({ dueAtMs }) => dueAtMs));
  }
  return due;
}

it('gives out each element once, no earlier than it is due and hardly later', () => {
  const wheel = new DueWheel<ReturnType<typeof element>>();
  const times = Array.from({ length: 500 }, (_, index) => 1_000_000 + ((index * 7919) % 4999));
  for (const dueAtMs of times) wheel.add(element(dueAtMs), 1_000_000);
  const out: number[] = [];
  for (let nowMs = 1_000_000; out.length < times.length; nowMs += 10) {
    const due = taken(wheel, nowMs);
    for (const dueAtMs of due) {
      expect(dueAtMs).toBeLessThanOrEqual(nowMs);
      expect(dueAtMs).toBeGreaterThan(nowMs - 20);
    }
    out.push(...due);
    expect(nowMs).toBeLessThan(1_006_000);
  }
  const byTime = (left: number, right: number) => left - right;
  expect(out.toSorted(byTime)).toEqual(times.toSorted(byTime));
  expect(wheel.nextDueMs).toBe(Number.POSITIVE_INFINITY);
});

it('does not give out what was removed', () => {
  const wheel = new DueWheel<ReturnType<typeof element>>();
  const [first, second, third] = [element(100), element(101), element(5000)];
  for (const one of [first, second, third]) wheel.add(one, 90);
  wheel.remove(first);
  wheel.remove(first);
  wheel.remove(third);
  expect(taken(wheel, 10_000)).toEqual([101]);
  expect(wheel.nextDueMs).toBe(Number.POSITIVE_INFINITY);
});

it('starts anew after a pause, and takes what is overdue first', () => {
  const wheel = new DueWheel<ReturnType<typeof element>>();
  wheel.add(element(100), 100);
  expect(taken(wheel, 200)).toEqual([100]);
  wheel.add(element(3_605_000), 3_600_000);
  wheel.add(element(3_599_000), 3_600_000);
  expect(wheel.nextDueMs).toBeLessThanOrEqual(3_600_004);
  expect(taken(wheel, 3_600_010)).toEqual([3_599_000]);
  expect(taken(wheel, 3_604_990)).toEqual([]);
  expect(taken(wheel, 3_605_010)).toEqual([3_605_000]);
});

it('gives out what is due after a whole turn of the wheel too early, never too late', () => {
  const wheel = new DueWheel<ReturnType<typeof element>>();
  wheel.add(element(60_000), 0);
  expect(taken(wheel, 8000)).toEqual([]);
  expect(taken(wheel, 10_000)).toEqual([60_000]);
});
