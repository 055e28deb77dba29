import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LagMeter, type LagReading, type ThreadLag } from './lag-meter.ts';

let nowMs = 0;
let waitedMs = 0;
const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs, sleep: async () => undefined };

beforeEach(() => {
  nowMs = 0;
  waitedMs = 0;
  vi.useFakeTimers({ toFake: ['setInterval'] });
});
afterEach(() => void vi.useRealTimers());

/** Makes the next tick late by `lateMs`; the thread waited `delayMs` for a processor. */
function tick(lateMs: number, delayMs = 0): void {
  nowMs += 10 + lateMs;
  waitedMs += delayMs;
  vi.advanceTimersByTime(10);
}

const newMeter = () => new LagMeter(clock, () => waitedMs);

it('a reading knows the longest lag and the sum of the long ones', () => {
  const reading = newMeter().start();
  for (const lateMs of [3, 30, 9, 12, 0]) tick(lateMs);
  expect(reading.stop()).toEqual({ lagMs: 30, awayMs: 42 });
});

it('a reading ignores lags before its start and after its end', () => {
  const meter = newMeter();
  const long = meter.start();
  tick(50);
  const short = meter.start();
  tick(20);
  tick(15);
  expect(short.stop()).toEqual({ lagMs: 20, awayMs: 35 });
  tick(40);
  expect(long.stop()).toEqual({ lagMs: 50, awayMs: 125 });
});

it('the wait for a processor counts from the start of a reading', () => {
  const meter = newMeter();
  const long = meter.start();
  nowMs += 5;
  waitedMs += 40;
  const short = meter.start();
  nowMs += 5;
  waitedMs += 12;
  vi.advanceTimersByTime(10);
  expect(short.stop()).toEqual({ lagMs: 12, awayMs: 12 });
  expect(long.stop()).toEqual({ lagMs: 52, awayMs: 52 });
});

it('a tick that is overdue counts before it has come', () => {
  const meter = newMeter();
  const reading = meter.start();
  tick(0);
  nowMs += 35;
  expect(reading.stop()).toEqual({ lagMs: 25, awayMs: 25 });
});

it('starts over when no reading was open for a while', () => {
  const meter = newMeter();
  const first = meter.start();
  tick(90, 90);
  first.stop();
  nowMs += 10_000;
  waitedMs += 500;
  const second = meter.start();
  tick(1);
  tick(2);
  expect(second.stop()).toEqual({ lagMs: 2, awayMs: 0 });
});

it('overlapping readings each know the lags in their own time', () => {
  const meter = newMeter();
  const open: { readonly reading: LagReading; readonly seen: number[] }[] = [];
  const found: ThreadLag[] = [];
  const expected: ThreadLag[] = [];
  // Lags and durations in a fixed, irregular order.
  for (let step = 0; step < 500; step += 1) {
    open.push({ reading: meter.start(), seen: [] });
    const lateMs = (step * 37) % 41;
    tick(lateMs);
    for (const { seen } of open) seen.push(lateMs);
    for (let ends = (step * 13) % 3; ends > 0 && open.length > 0; ends -= 1) {
      const [ended] = open.splice((step * 7) % open.length, 1);
      if (!ended) continue;
      found.push(ended.reading.stop());
      const awayMs = ended.seen.filter((lagMs) => lagMs >= 10).reduce((sum, lagMs) => sum + lagMs, 0);
      expected.push({ lagMs: Math.max(...ended.seen), awayMs });
    }
  }
  expect(found.length).toBeGreaterThan(300);
  expect(found).toEqual(expected);
});
