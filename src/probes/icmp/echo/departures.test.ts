import { expect, it } from 'vitest';
import { Departures } from './departures.ts';

const sentAt = (...timesMs: number[]) => timesMs.map((leftMs) => ({ leftMs }));

function stamped(requests: { leftMs: number }[], stampsMs: number[]): number[] {
  const departures = new Departures();
  for (const request of requests) departures.add(request);
  for (const stampMs of stampsMs) departures.stamp(stampMs);
  return requests.map(({ leftMs }) => leftMs);
}

it('gives each request the timestamp of its own sending', () => {
  expect(stamped(sentAt(100, 200, 300), [110, 250, 301])).toEqual([110, 250, 301]);
});

it('leaves a request without a timestamp unchanged, at any position', () => {
  expect(stamped(sentAt(100, 200, 300), [250, 301])).toEqual([100, 250, 301]);
  expect(stamped(sentAt(100, 200, 300), [110, 301])).toEqual([110, 200, 301]);
  expect(stamped(sentAt(100, 200, 300), [110, 250])).toEqual([110, 250, 300]);
});

it('uses the first of two timestamps of one sending: the other one was queued', () => {
  expect(stamped(sentAt(100, 200), [110, 120, 210])).toEqual([110, 210]);
});

it('uses no timestamp from before the first sending', () => {
  expect(stamped(sentAt(100, 200), [50, 210])).toEqual([100, 210]);
});

it('waits for no timestamp once it has ended', () => {
  const departures = new Departures();
  const request = { leftMs: 100 };
  departures.add(request);
  departures.end();
  departures.stamp(110);
  expect(request.leftMs).toBe(100);
});
