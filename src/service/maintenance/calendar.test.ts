import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { longestOverrunMs, MaintenanceCalendar, type PlannedMaintenance, statusAt } from './calendar.ts';
import type { MaintenanceRow } from './tables.ts';

const hourMs = 3_600_000;
const first = Date.parse('2026-01-01T00:00:00Z');
const count = 30;
const window = {
  startsAt: '2026-01-01T00:00:00Z',
  endsAt: '2026-01-01T01:00:00Z',
  repeatInterval: 1,
  repeatUnit: 'DAY',
  repeatEndsAt: new Date(first + (count - 1) * 24 * hourMs).toISOString(),
};
const row = (occurrence: number, fields: Partial<MaintenanceRow> = {}): MaintenanceRow => ({
  window_id: 1,
  occurrence,
  starts_at: null,
  ends_at: null,
  is_deleted: 0,
  stated: null,
  begun: null,
  ended: null,
  ...fields,
});

/** Random changes of a few occurrences: deleted, moved, started or ended by hand. */
const changes = fc.uniqueArray(fc.integer({ min: 1, max: count }), { maxLength: 12 }).chain((ids) =>
  fc.tuple(
    ...ids.map((id) =>
      fc.oneof(
        fc.constant(row(id, { is_deleted: 1 })),
        fc.constant(row(id)),
        fc.integer({ min: 0, max: count * 24 }).map((hour) => {
          const startsAt = first + (hour + 0.5) * hourMs;
          return row(id, { starts_at: startsAt, ends_at: startsAt + 2 * hourMs });
        }),
        fc.constant(row(id, { ended: first + (id - 1) * 24 * hourMs + hourMs / 4, stated: 'COMPLETED' })),
      ),
    ),
  ),
);

/** All occurrences of a calendar, by brute force. */
function all(calendar: MaintenanceCalendar): PlannedMaintenance[] {
  return Array.from({ length: count }, (_, index) => calendar.find(index + 1))
    .filter((one) => one !== null)
    .sort((left, right) => left.startsAt - right.startsAt);
}

describe('a calendar', () => {
  it('pages like slices of a list of all that are not over', () => {
    fc.assert(
      fc.property(
        changes,
        fc.integer({ min: -24, max: count * 24 }),
        fc.record({ limit: fc.integer({ min: 1, max: 10 }), offset: fc.integer({ min: 0, max: 45 }) }),
        (changed, hour, page) => {
          const calendar = new MaintenanceCalendar(window, changed);
          const instant = first + hour * hourMs;
          const left = all(calendar).filter(({ endsAt }) => endsAt > instant);
          expect(calendar.from(instant, page)).toEqual(left.slice(page.offset, page.offset + page.limit));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('is in effect while any of them is, and stores its bounds', () => {
    fc.assert(
      fc.property(changes, fc.integer({ min: -24, max: (count + 1) * 24 * 4 }), (changed, quarter) => {
        const calendar = new MaintenanceCalendar(window, changed);
        const instant = first + (quarter * hourMs) / 4;
        const held = all(calendar).some(({ effect }) => effect.from <= instant && instant < effect.to);
        expect(calendar.isInEffect(instant)).toBe(held);
        const { startsAt, lastEndsAt } = calendar.bounds();
        if (held) expect(startsAt <= instant && instant < (lastEndsAt ?? 0)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('begins early if an update says so, and has no effect once it is cancelled', () => {
    const early = new MaintenanceCalendar(window, [
      row(2, { begun: first + 20 * hourMs, stated: 'IN_PROGRESS' }),
    ]);
    expect(early.isInEffect(first + 19 * hourMs)).toBe(false);
    expect(early.isInEffect(first + 20 * hourMs)).toBe(true);
    expect(early.isInEffect(first + 25 * hourMs)).toBe(false);
    const cancelled = new MaintenanceCalendar(window, [
      row(2, { ended: first + hourMs, stated: 'CANCELLED' }),
    ]);
    expect(cancelled.isInEffect(first + 24.5 * hourMs)).toBe(false);
    expect(cancelled.isInEffect(first + 48.5 * hourMs)).toBe(true);
  });
});

describe('the status', () => {
  const both = { autoStart: true, autoEnd: true };
  const byHand = { autoStart: false, autoEnd: false };
  const [before, during, after] = [first - 1, first, first + hourMs];
  it.each([
    [null, before, both, 'SCHEDULED'],
    [null, during, both, 'IN_PROGRESS'],
    [null, after, both, 'COMPLETED'],
    [null, during, byHand, 'SCHEDULED'],
    [null, after, byHand, 'SCHEDULED'],
    [null, after + longestOverrunMs, byHand, 'COMPLETED'],
    ['IN_PROGRESS', before, both, 'IN_PROGRESS'],
    ['IN_PROGRESS', after, byHand, 'IN_PROGRESS'],
    ['VERIFYING', during, both, 'VERIFYING'],
    ['VERIFYING', after, both, 'COMPLETED'],
    ['SCHEDULED', during, both, 'IN_PROGRESS'],
    ['COMPLETED', during, both, 'COMPLETED'],
    ['CANCELLED', after, both, 'CANCELLED'],
  ] as const)('stated as %s, at %i with %o: %s', (stated, instant, rule, expected) => {
    const planned = {
      id: 1,
      startsAt: first,
      endsAt: first + hourMs,
      effect: { from: first, to: first + hourMs },
      overAt: first + hourMs,
      stated,
    };
    expect(statusAt(planned, instant, rule)).toBe(expected);
  });
});
