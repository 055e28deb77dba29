import type { Clock } from '@picket/lib/clock.ts';
import { describe, expect, it } from 'vitest';
import { RemovalPace } from './removal-pace.ts';

/** A table of rows, a clock that advances by the cost of deletions, and a log of actions. */
function stage(rows: number, { startMs = 2, usPerRow = 100 } = {}) {
  let nowMs = 1_000;
  let left = rows;
  const done = { portions: [] as number[], restMs: 0 };
  const clock: Clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    async sleep(ms) {
      nowMs += ms;
      done.restMs += ms;
    },
  };
  const pace = new RemovalPace(clock, { rowAddress: 'rowid', statementMs: 20, restShare: 1 }, 500);
  const run = (lengthMs: number) =>
    pace.run(async (limit) => {
      const removed = Math.min(limit, left);
      left -= removed;
      nowMs += startMs + (removed * usPerRow) / 1000;
      done.portions.push(limit);
      return removed;
    }, nowMs + lengthMs);
  return { done, run, pace, left: () => left, now: () => nowMs };
}

describe('RemovalPace', () => {
  it('finds the portion that takes as long as a statement may, and rests after each', async () => {
    const { done, run, left } = stage(10_000);
    expect(await run(60_000)).toBe(false);
    expect(left()).toBe(0);
    // 52 ms for the first 500, then 20 ms less the 2 ms that a statement itself takes.
    expect(done.portions[0]).toBe(500);
    expect(done.portions.at(-1)).toBeGreaterThan(170);
    expect(done.portions.at(-1)).toBeLessThan(200);
    expect(done.restMs).toBeGreaterThan(900);
  });

  it('grows if rows are cheap, at most twofold each time, and not endlessly', async () => {
    const { done, run } = stage(1_000_000, { startMs: 1, usPerRow: 0.1 });
    await run(60_000);
    expect(done.portions.slice(0, 4)).toEqual([500, 1_000, 2_000, 4_000]);
    expect(Math.max(...done.portions)).toBe(50_000);
  });

  it('shrinks if rows are expensive, to at least a hundred', async () => {
    const { done, run } = stage(3_000, { usPerRow: 10_000 });
    await run(600_000);
    expect(done.portions.slice(0, 4)).toEqual([500, 250, 125, 100]);
    expect(Math.min(...done.portions)).toBe(100);
  });

  it('ends with its time, and reports that there may be more', async () => {
    const { run, left } = stage(1_000_000);
    expect(await run(500)).toBe(true);
    expect(left()).toBeGreaterThan(990_000);
  });

  it('is unchanged when little is left', async () => {
    const { run, pace } = stage(3);
    expect(await run(500)).toBe(false);
    expect(pace.rows).toBe(500);
  });
});
