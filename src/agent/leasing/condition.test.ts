import { systemClock } from '@picket/lib/clock.ts';
import { afterEach, expect, it, vi } from 'vitest';
import { ConditionMeter } from './condition.ts';

afterEach(() => vi.restoreAllMocks());

let nowMs = 0;
const meter = new ConditionMeter({
  clock: { ...systemClock, monotonicMs: () => nowMs },
  dispatcher: { laneStates: () => [{ lane: 'probe', size: 2, running: 1, queued: 0 }] } as never,
  delivery: { spool: { state: {} }, reporter: { waitingCount: 3 } } as never,
  spoolMaxBytes: 1_000,
});

it('is the load of the process, its lanes and its spool', () => {
  expect(meter.read()).toMatchObject({
    lanes: { probe: { size: 2, running: 1, queued: 0 } },
    spool: { results: 3, sizeBytes: 0, maxBytes: 1_000, problem: null },
  });
});

it('is unknown without a free file descriptor, and never ends the agent', () => {
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  });
  nowMs += 1000;
  expect(meter.read()).toBeNull();
});

it('asks the system once a second, however many claims there are', () => {
  const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(1_000_000);
  nowMs += 1000;
  for (let count = 0; count < 10; count += 1) expect(meter.read()?.memoryBytes).toBe(1_000_000);
  expect(rss).toHaveBeenCalledTimes(1);
  nowMs += 1000;
  meter.read();
  expect(rss).toHaveBeenCalledTimes(2);
});
