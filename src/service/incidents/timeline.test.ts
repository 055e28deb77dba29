import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addedUptime, incidentDays, stateAt, timelineOf, uptimeOf, uptimeView } from './timeline.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const now = Date.UTC(2026, 4, 20, 13, 30);

describe('a timeline', () => {
  const of = (...statuses: ('INVESTIGATING' | 'RESOLVED')[]) =>
    // Newest first, a minute apart, the oldest at 0.
    timelineOf(statuses.map((status, index) => ({ status, published: statuses.length - 1 - index })));

  it('is empty without updates', () => expect(of()).toBeNull());
  it('begins with the oldest update', () =>
    expect(of('INVESTIGATING', 'INVESTIGATING')).toEqual({
      last_status: 'INVESTIGATING',
      started: 0,
      ended: null,
    }));
  it('ends with the first of the final RESOLVED updates', () =>
    expect(of('RESOLVED', 'RESOLVED', 'INVESTIGATING', 'RESOLVED', 'INVESTIGATING')).toMatchObject({
      started: 0,
      ended: 3,
    }));
  it('is open after anything else', () =>
    expect(of('INVESTIGATING', 'RESOLVED')).toMatchObject({ ended: null }));
});

it('counts every minute of incidents once, like a minute-by-minute count', () => {
  const minutes = 90 * 24 * 60;
  const from = now - minutes * minuteMs;
  const incident = fc
    .tuple(fc.integer({ min: -2000, max: minutes + 50 }), fc.option(fc.integer({ min: 0, max: 5000 })))
    .map(([start, length]) => ({
      started: from + start * minuteMs,
      ended: length === null ? null : from + (start + length) * minuteMs,
    }));
  fc.assert(
    fc.property(fc.array(incident, { maxLength: 6 }), (incidents) => {
      let down = 0;
      const perDay = new Map<string, number>();
      for (let minute = 0; minute < minutes; minute += 1) {
        const at = from + minute * minuteMs;
        if (!incidents.some(({ started, ended }) => started <= at && (ended === null || ended > at)))
          continue;
        down += 1;
        const date = new Date(at).toISOString().slice(0, 10);
        perDay.set(date, (perDay.get(date) ?? 0) + 60);
      }
      expect(uptimeView(uptimeOf(incidents, 0, now)).uptime).toBeCloseTo(
        (100 * (minutes - down)) / minutes,
        9,
      );
      const days = incidentDays(incidents, now);
      // The first displayed day begins after the window does.
      for (const { date, incidentSeconds } of days) expect(incidentSeconds).toBe(perDay.get(date) ?? 0);
    }),
    { numRuns: 40 },
  );
});

it('counts from the first measured slot on, and shows its time', () => {
  const since = now - 4 * minuteMs;
  const outage = { started: since + minuteMs, ended: since + 2 * minuteMs };
  const earlier = { started: now - dayMs, ended: now - dayMs + minuteMs };
  expect(uptimeView(uptimeOf([outage, earlier], since, now))).toEqual({
    uptime: 75,
    uptimeSince: new Date(since).toISOString(),
  });
  expect(uptimeView(uptimeOf([outage], null, now))).toEqual({ uptime: null, uptimeSince: null });
  // Watched for 4 minutes and for 12: each minute has the same weight.
  const longer = uptimeOf([outage], now - 12 * minuteMs, now);
  const both = uptimeView(addedUptime([uptimeOf([outage], since, now), longer, null]));
  expect(both).toEqual({ uptime: 87.5, uptimeSince: new Date(now - 12 * minuteMs).toISOString() });
  expect(addedUptime([null])).toBeNull();
});

it('shows 90 days, ending today', () => {
  const days = incidentDays([], now);
  expect([days.length, days[0]?.date, days.at(-1)?.date]).toEqual([90, '2026-02-20', '2026-05-20']);
});

it('has the worst severity of ongoing incidents', () => {
  const incident = (severity: 'MINOR' | 'CRITICAL', started: number, ended: number | null) => ({
    severity,
    started,
    ended,
  });
  expect(stateAt([], now)).toBe('OPERATIONAL');
  const minor = incident('MINOR', now - 5, null);
  expect(stateAt([minor], now)).toBe('MINOR');
  expect(stateAt([minor, incident('CRITICAL', now - dayMs, now)], now)).toBe('MINOR');
  expect(stateAt([minor, incident('CRITICAL', now, now + 1)], now)).toBe('CRITICAL');
  expect(stateAt([incident('CRITICAL', now + 1, null)], now)).toBe('OPERATIONAL');
});
