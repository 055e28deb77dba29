import { expect, it } from 'vitest';
import { Departures } from './departures.ts';

/** Microseconds within some second. */
const at = (us: number) => ({ seconds: 1_700_000_000, nanoseconds: us * 1000 });
const sentAt = (...us: number[]) => us.map((one) => ({ sentAt: at(one) }));

function stamped(requests: { sentAt: { nanoseconds: number } }[], stamps: number[]): number[] {
  const departures = new Departures();
  for (const request of requests) departures.add(request as Parameters<Departures['add']>[0]);
  for (const stamp of stamps) departures.stamp(at(stamp));
  return requests.map((request) => request.sentAt.nanoseconds / 1000);
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
  const [request] = sentAt(100);
  if (!request) throw new Error('no request');
  departures.add(request);
  expect(departures.areAwaited).toBe(true);
  departures.end();
  departures.stamp(at(110));
  expect(request.sentAt).toEqual(at(100));
  expect(departures.areAwaited).toBe(false);
});
