import { expect, it } from 'vitest';
import { type SentData, writeMoment } from './send-time.ts';

const usualMs = 0.1;
const unknown: SentData = { notBefore: () => Number.NEGATIVE_INFINITY, isConfirmed: () => false };
const notBefore = (atMs: number): SentData => ({ ...unknown, notBefore: () => atMs });
const confirmed: SentData = { ...unknown, isConfirmed: () => true };

it('is the end of a write that took no longer than writes do', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 10.4, usualMs }, unknown)).toEqual({ atMs: 10.4, doubtMs: 0 });
});

it('is the beginning of a write that was interrupted, and not its end', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, unknown)).toEqual({ atMs: 10.1, doubtMs: 4.9 });
  // What the kernel knows of the time before says nothing.
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, notBefore(5)).atMs).toBe(10.1);
});

it('is not before what the kernel knows, for a thread that was interrupted before it came to write', () => {
  const moment = writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, notBefore(76));
  expect(moment).toEqual({ atMs: 76, doubtMs: 14 });
  expect(writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, notBefore(95)).atMs).toBe(90);
});

it('is before the one interruption after which the peer had confirmed the data', () => {
  const once = { beforeMs: 10, afterMs: 18.25, usualMs, interruption: { waitedMs: 8, turnCount: 1 } };
  expect(writeMoment(once, confirmed)).toEqual({ atMs: 10.25, doubtMs: 0 });
  expect(writeMoment(once, unknown).doubtMs).toBeCloseTo(8.15);
});

it.each([
  ['two interruptions: which of them it was before', { waitedMs: 8, turnCount: 2 }],
  ['work of its own: whether that came before', { waitedMs: 1, turnCount: 1 }],
])('is in doubt after %s nobody knows', (_what, interruption) => {
  const stamps = { beforeMs: 10, afterMs: 18.25, usualMs, interruption };
  expect(writeMoment(stamps, confirmed)).toMatchObject({ atMs: 10.1, doubtMs: expect.closeTo(8.15) });
});
