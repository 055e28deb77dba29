import { coverageOf } from '@picket/protocol/runs/coverage.ts';
import { expect, it } from 'vitest';
import type { SlotFacts } from '../elements/charts/slot-bar.ts';
import { gapsOfCoverage, gapsOfSlots, slotStrip, trendStrip } from './run-bars.ts';

const minuteMs = 60_000;
const from = Date.UTC(2026, 10, 22);
const zoom = (start: number, end: number) => `zoom ${(start - from) / minuteMs} ${(end - from) / minuteMs}`;

function slot(minute: number, facts: Partial<SlotFacts> = {}): SlotFacts {
  return {
    id: `slot-${minute}`,
    checkId: 'c',
    at: from + minute * minuteMs,
    location: 'lab',
    count: 1,
    isOnItsWay: false,
    reason: null,
    resultId: `run-${minute}`,
    verdict: 'PASSED',
    responseTimeMs: 80,
    ...{ message: null, code: null, owner: null, isOnDemand: false },
    ...facts,
  };
}

const missed = (minute: number, reason: string, count = 1) =>
  slot(minute, { verdict: null, resultId: null, reason, count });

function spanOf(minutes: number) {
  return { from, to: from + minutes * minuteMs };
}

it('gives each slot a bar that links to its run, as wide as slots are apart', () => {
  const slots = [
    slot(0),
    slot(1, { verdict: 'FAILED' }),
    missed(2, 'no-agent'),
    slot(3, { startDelayMs: 12_000 }),
  ];
  const { bars, counts } = slotStrip(slots, spanOf(100), { strideMs: minuteMs, zoom });
  expect(bars.map(({ state, isLate }) => [state, isLate])).toEqual([
    ['passed', false],
    ['failed', false],
    ['missed', false],
    ['passed', true],
  ]);
  expect(bars[0]).toMatchObject({ from, to: from + minuteMs, href: '/checks/c/runs/run-0' });
  expect(bars[2]?.title).toMatch(/^not measured\. No agent of the location/);
  expect(bars[3]?.title).toBe('passed in 80 ms, started 12 s late');
  expect(Object.fromEntries(counts)).toEqual({ passed: 2, failed: 1, missed: 1 });
});

it('combines slots that would be narrower than a pixel, and loses no failed one', () => {
  const failed = new Set([0, 7, 499, 998]);
  const slots = Array.from({ length: 999 }, (_none, minute) =>
    slot(minute, failed.has(minute) ? { verdict: 'FAILED' } : minute === 3 ? { verdict: 'DEGRADED' } : {}),
  );
  const { bars, counts } = slotStrip(slots, spanOf(999), { strideMs: minuteMs, zoom });
  expect(bars.length).toBeLessThanOrEqual(200);
  expect(counts.get('failed')).toBe(4);
  const bad = bars.filter(({ state }) => state === 'failed');
  expect(bad.map(({ from: at }) => (at - from) / minuteMs)).toEqual([0, 5, 495, 995]);
  expect(bad[0]).toMatchObject({ href: 'zoom 0 5', title: '5 runs: 1 failed, 1 degraded, 3 passed' });
});

it('takes columns of long ranges from intervals: a failure is never rounded away, a gap never green', () => {
  const hour = 60 * minuteMs;
  const strip = trendStrip(
    {
      intervalMs: hour,
      rows: new Map([
        [from, { availability: 99.999 }],
        [from + hour, { availability: 100 }],
        [from + 3 * hour, { availability: 0 }],
      ]),
      coverage: new Map([
        [from, coverageOf([['evaluated', 360]])],
        [
          from + hour,
          coverageOf([
            ['evaluated', 300],
            ['error', 2],
            ['missed:no-agent', 58],
          ]),
        ],
        [from + 2 * hour, coverageOf([['missed:service-away', 360]])],
      ]),
    },
    zoom,
  );
  expect(strip.bars).toEqual([
    expect.objectContaining({ state: 'failed', title: '360 runs: 1 failed, 359 passed', href: 'zoom 0 60' }),
    expect.objectContaining({
      state: 'error',
      isPartlyMissed: true,
      title: expect.stringMatching(/^360 runs: 2 not judged, 300 passed, 58 not measured \(No agent/),
    }),
    expect.objectContaining({ state: 'missed', isPartlyMissed: false }),
    // Its slot was due in the interval before.
    expect.objectContaining({ state: 'failed', title: '1 run: 1 failed' }),
  ]);
});

it('shows a gap from the first unmeasured slot to the next measured one, with every reason', () => {
  const slots = [
    slot(0),
    missed(1, 'no-agent'),
    missed(2, 'service-away', 5),
    slot(7),
    missed(9, 'no-agent'),
  ];
  const gaps = gapsOfSlots(slots, spanOf(10), minuteMs);
  expect(gaps.map((gap) => [(gap.from - from) / minuteMs, (gap.to - from) / minuteMs, gap.title])).toEqual([
    [1, 7, 'Not measured: no agent, service away'],
    [9, 10, expect.stringMatching(/^Not measured: No agent of the location polled for work$/)],
  ]);
  // Another location was measured at the same time.
  expect(gapsOfSlots([missed(1, 'no-agent'), slot(1)], spanOf(10), minuteMs)).toEqual([]);
});

it('joins intervals without any measured slot to one gap', () => {
  const hour = 60 * minuteMs;
  const coverage = new Map([
    [from, coverageOf([['missed:no-agent', 60]])],
    [from + hour, coverageOf([[`missed:paused-by-maintenance`, 60]])],
    [from + 2 * hour, coverageOf([['evaluated', 1]])],
    [from + 3 * hour, coverageOf([['open', 1]])],
  ]);
  expect(gapsOfCoverage(coverage, hour)).toEqual([
    { from, to: from + 2 * hour, title: 'Not measured: no agent, paused by maintenance' },
  ]);
});
