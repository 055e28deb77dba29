import { systemClock } from '@picket/lib/clock.ts';
import { afterEach, expect, it, vi } from 'vitest';
import { ConditionMeter } from './condition.ts';

afterEach(() => vi.restoreAllMocks());

const meter = new ConditionMeter({
  clock: systemClock,
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
  expect(meter.read()).toBeNull();
});
