import { describe, expect, it } from 'vitest';
import type { DetailCountRow } from '../tables.ts';
import { countKey, decideDetails } from './kept-details.ts';

const now = Date.UTC(2026, 10, 23, 12);
const minuteMs = 60_000;

type Kind = 'pass' | 'fail' | 'error' | 'degraded' | 'retried';

const row = (kind: Kind, index: number, location = 'lab') =>
  ({
    check_id: 'c',
    run_location: location,
    slot_at: now + index * minuteMs,
    has_failures: kind === 'fail' ? 1 : 0,
    has_errors: kind === 'error' ? 1 : 0,
    is_degraded: kind === 'degraded' ? 1 : 0,
    attempts: kind === 'retried' ? 1 : 0,
    detail: '{}',
  }) as const;

/** Results one at a time, as usual; `k` for a detail that was kept, `-` for one that was omitted. */
function course(kinds: readonly Kind[], everyNthPass: number, stepMs = minuteMs): string {
  let counts: DetailCountRow[] = [];
  return kinds
    .map((kind, index) => {
      const one = row(kind, index);
      const decided = decideDetails([one], counts, { everyNthPass, now: now + index * stepMs });
      const changed = new Set(decided.changed.map(countKey));
      counts = [...counts.filter((count) => !changed.has(countKey(count))), ...decided.changed];
      return decided.leftOut.has(one) ? '-' : 'k';
    })
    .join('');
}

const times = (kind: Kind, count: number) => Array.from({ length: count }, () => kind);

describe('decideDetails', () => {
  it('keeps the detail of every n-th pass', () => {
    expect(course(times('pass', 8), 3)).toBe('k--k--k-');
    expect(course(times('pass', 4), 1)).toBe('kkkk');
  });

  it('keeps everything except plain passes, and the first pass after it', () => {
    expect(course(['pass', 'pass', 'fail', 'fail', 'pass', 'pass'], 100)).toBe('k-kkk-');
    for (const kind of ['error', 'degraded', 'retried'] as const) {
      expect(course(['pass', 'pass', kind, 'pass', 'pass'], 100)).toBe('k-kk-');
    }
  });

  it('keeps one pass a day, however rare the others are', () => {
    expect(course(times('pass', 49), 1_000, 30 * minuteMs)).toBe(`k${'-'.repeat(47)}k`);
  });

  it('keeps one again when a clock that was ahead is corrected', () => {
    const counts = [{ check_id: 'c', location: 'lab', passes: 0, kept: now + 90_000_000 }];
    const decided = decideDetails([row('pass', 0)], counts, { everyNthPass: 100, now });
    expect(decided).toEqual({
      leftOut: new Set(),
      changed: [{ check_id: 'c', location: 'lab', passes: 0, kept: now }],
    });
  });

  it('counts each location separately, in the order of the slots', () => {
    const rows = [
      row('pass', 2),
      row('pass', 0),
      row('pass', 1),
      row('pass', 0, 'office'),
      row('pass', 1, 'office'),
    ];
    const { leftOut, changed } = decideDetails(rows, [], { everyNthPass: 2, now });
    expect([...leftOut]).toEqual([rows[2], rows[4]]);
    expect(changed).toEqual([
      { check_id: 'c', location: 'lab', passes: 0, kept: now },
      { check_id: 'c', location: 'office', passes: 1, kept: now },
    ]);
  });

  it('does not count runs without a detail', () => {
    const bare = { ...row('pass', 0), detail: null };
    expect(decideDetails([bare], [], { everyNthPass: 2, now })).toEqual({ leftOut: new Set(), changed: [] });
  });
});
