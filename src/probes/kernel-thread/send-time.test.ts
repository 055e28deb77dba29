import { expect, it } from 'vitest';
import { writeMoment } from './send-time.ts';

const usualMs = 0.1;
const unknown = () => Number.NEGATIVE_INFINITY;

it('is the end of a write that took no longer than writes do', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 10.4, usualMs }, unknown)).toBe(10.4);
});

it('is the beginning of a write that was interrupted, and not its end', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, unknown)).toBe(10.1);
  // What the kernel knows of the time before says nothing.
  expect(writeMoment({ beforeMs: 10, afterMs: 15, usualMs }, () => 5)).toBe(10.1);
});

it('is not before what the kernel knows, for a thread that was interrupted before it came to write', () => {
  expect(writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, () => 76)).toBe(76);
  expect(writeMoment({ beforeMs: 10, afterMs: 90, usualMs }, () => 95)).toBe(90);
});
