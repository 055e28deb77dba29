import { expect, it } from 'vitest';
import { wakeTime } from './wake-time.ts';

const timeoutMs = 100;
const before = { waitedMs: 1000, turnCount: 50 };
const after = (waitedMs: number, turnCount: number) => ({
  waitedMs: 1000 + waitedMs,
  turnCount: 50 + turnCount,
});

const asked = { lookedAtMs: 9, askedAtMs: 10, timeoutMs, before };

it('is when the wait returned, on a host with a free processor', () => {
  const wait = { ...asked, returnedAtMs: 60, after: after(0, 1) };
  expect(wakeTime(wait)).toEqual({ atMs: 60, doubtMs: 0 });
});

it('is earlier by the time that the thread waited for a processor', () => {
  const wait = { ...asked, returnedAtMs: 60, after: after(8, 1) };
  expect(wakeTime(wait)).toEqual({ atMs: 52, doubtMs: 0 });
});

it.each([
  ['was interrupted besides', 60, after(8, 2), 8],
  ['the end of its time woke, whatever came while it waited for a processor', 118, after(8, 1), 8],
])('is unknown for a thread that %s', (_what, returnedAtMs, later, doubtMs) => {
  expect(wakeTime({ ...asked, returnedAtMs, after: later })).toEqual({ atMs: returnedAtMs, doubtMs });
});

it.each([
  ['was interrupted before it slept', { ...asked, returnedAtMs: 18, after: after(8, 1) }],
  [
    'was interrupted before the wait began',
    { ...asked, askedAtMs: 17, returnedAtMs: 18, after: after(8, 1) },
  ],
  // Interruptions between two waits count for neither of them.
  [
    'was interrupted after the wait before',
    { ...asked, askedAtMs: 18, returnedAtMs: 18, after: after(0, 0) },
  ],
])('is at some time since the last look of a thread that %s', (_what, wait) => {
  expect(wakeTime(wait)).toEqual({ atMs: 18, doubtMs: 9 });
});
