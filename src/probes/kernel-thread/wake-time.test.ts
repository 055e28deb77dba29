import { expect, it } from 'vitest';
import { wakeTime } from './wake-time.ts';

const timeoutMs = 100;
const before = { waitedMs: 1000, turnCount: 50 };
const after = (waitedMs: number, turnCount: number) => ({
  waitedMs: 1000 + waitedMs,
  turnCount: 50 + turnCount,
});

it('is when the wait returned, on a host with a free processor', () => {
  const wait = { askedAtMs: 10, timeoutMs, returnedAtMs: 60, before, after: after(0, 1) };
  expect(wakeTime(wait)).toEqual({ atMs: 60, doubtMs: 0 });
});

it('is earlier by what the thread waited for a processor', () => {
  const wait = { askedAtMs: 10, timeoutMs, returnedAtMs: 60, before, after: after(8, 1) };
  expect(wakeTime(wait)).toEqual({ atMs: 52, doubtMs: 0 });
});

it.each([
  ['was interrupted besides', 60, after(8, 2), 8],
  ['never slept, as it was interrupted before it did', 18.05, after(8, 1), 8],
  ['the end of its time woke, whatever came while it waited for a processor', 118, after(8, 1), 8],
  ['was interrupted before the wait began', 12, after(8, 1), 2],
])('is not known of a thread that %s', (_what, returnedAtMs, later, doubtMs) => {
  expect(wakeTime({ askedAtMs: 10, timeoutMs, returnedAtMs, before, after: later })).toEqual({
    atMs: returnedAtMs,
    doubtMs,
  });
});
