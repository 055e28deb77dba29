import { describe, expect, it } from 'vitest';
import { momentBefore, type SentData, writeMoment } from './send-time.ts';

const usualMs = 0.1;
const unknown: SentData = {
  span: () => ({ earliestMs: Number.NEGATIVE_INFINITY, latestMs: Number.POSITIVE_INFINITY }),
  isConfirmed: () => false,
};
const between = (earliestMs: number, latestMs: number): SentData => ({
  ...unknown,
  span: () => ({ earliestMs, latestMs }),
});
const confirmed: SentData = { ...unknown, isConfirmed: () => true };

it('is the end of a write of usual duration', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 10.4, usualMs }, unknown)).toMatchObject({
    atMs: 10.4,
    doubtMs: 0,
  });
});

it('queries interruptions only if they make a difference', () => {
  const interruption = () => {
    throw new Error('was asked');
  };
  expect(writeMoment({ beforeMs: 10, afterMs: 10.5, usualMs, interruption }, unknown).atMs).toBe(10.5);
  expect(() => writeMoment({ beforeMs: 10, afterMs: 10.51, usualMs, interruption }, unknown)).toThrow(
    'was asked',
  );
});

it('is the beginning of an interrupted write, not its end', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, unknown)).toMatchObject({
    atMs: 10.1,
    doubtMs: 4.9,
  });
  // The kernel's data about the time before is not used.
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, between(5, 15)).atMs).toBe(10.1);
});

it("is not before the kernel's span, for a thread that was interrupted before the write", () => {
  const moment = writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, between(76, 84));
  expect(moment).toMatchObject({ atMs: 80, doubtMs: 4 });
  expect(writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, between(95, 103)).atMs).toBe(90);
});

it('is before or after the single interruption, according to the kernel', () => {
  const once = { beforeMs: 10, afterMs: 18.25, usualMs, interruption: () => ({ waitedMs: 8, turnCount: 1 }) };
  expect(writeMoment(once, between(6.25, 14.25))).toMatchObject({ atMs: 10.25, doubtMs: 0 });
  // A near peer confirms at once what was sent at the end.
  expect(writeMoment(once, { ...between(14.25, 18.25), isConfirmed: () => true })).toMatchObject({
    atMs: 18.25,
    doubtMs: 0,
  });
  expect(writeMoment(once, between(9, 19))).toMatchObject({ atMs: 10.1, doubtMs: expect.closeTo(8.15) });
});

it('is between the two limits of a write that takes longer than usual, but not too long', () => {
  const hello = {
    beforeMs: 10,
    afterMs: 14,
    usualMs: 4,
    interruption: () => ({ waitedMs: 3.5, turnCount: 1 }),
  };
  expect(writeMoment(hello, unknown)).toMatchObject({ atMs: 12.25, doubtMs: 1.75 });
});

it('is before the single interruption after which the peer had confirmed the data', () => {
  const once = { beforeMs: 10, afterMs: 18.25, usualMs, interruption: () => ({ waitedMs: 8, turnCount: 1 }) };
  expect(writeMoment(once, confirmed)).toMatchObject({ atMs: 10.25, doubtMs: 0 });
  expect(writeMoment(once, unknown).doubtMs).toBeCloseTo(8.15);
});

it.each([
  ['two interruptions: which of them it was before', { waitedMs: 8, turnCount: 2 }],
  ['work of its own: whether that came before', { waitedMs: 1, turnCount: 1 }],
])('is doubtful after %s is unknown', (_what, interruption) => {
  const stamps = { beforeMs: 10, afterMs: 18.25, usualMs, interruption: () => interruption };
  expect(writeMoment(stamps, confirmed)).toMatchObject({ atMs: 10.1, doubtMs: expect.closeTo(8.15) });
});

describe('once its response has arrived', () => {
  it('is unchanged if the response arrived later', () => {
    const write = { atMs: 20, doubtMs: 4, earliestMs: 16 };
    expect(momentBefore(write, 24.1)).toBe(write);
  });

  it('is before the response, and thereby more precise', () => {
    // Three interruptions: the middle of the kernel's span is later than the response.
    const spread = momentBefore({ atMs: 20.5, doubtMs: 4, earliestMs: 16.5 }, 18.25);
    expect(spread).toMatchObject({ atMs: expect.closeTo(17.325), doubtMs: expect.closeTo(0.825) });
    const early = momentBefore({ atMs: 10.1, doubtMs: 8, earliestMs: 10.1 }, 12.1);
    expect(early).toMatchObject({ atMs: 10.1, doubtMs: expect.closeTo(1.9) });
  });

  it('is the earliest possible time if the end of the write was assumed', () => {
    expect(momentBefore({ atMs: 14, doubtMs: 0, earliestMs: 10 }, 12)).toMatchObject({
      atMs: 10,
      doubtMs: 0,
    });
  });
});
