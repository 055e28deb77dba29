import { describe, expect, it } from 'vitest';
import { BodyMemory } from './body-memory.ts';

const never = () => {
  throw new Error('granted unasked');
};

describe('the memory for bodies', () => {
  it('is granted while some is left, and is returned', () => {
    const memory = new BodyMemory(100, 25);
    const one = memory.open();
    const other = memory.open();
    expect(one.hold(40, never)).toBe(true);
    expect(one.hold(30, never)).toBe(true);
    expect(other.hold(35, never)).toBe(true);
    expect(memory.usedBytes).toBe(75);
    one.release();
    expect(memory.usedBytes).toBe(35);
    expect(other.waitedMs).toBe(0);
  });

  it('keeps enough in reserve for the first that would have to wait', () => {
    const memory = new BodyMemory(100, 25);
    const [first, second, third] = [memory.open(), memory.open(), memory.open()];
    first.hold(70, never);
    expect(second.hold(20, never)).toBe(true);
    expect(second.hold(25, never)).toBe(true);
    let isGranted = false;
    const onGranted = () => {
      isGranted = true;
    };
    expect(third.hold(10, onGranted)).toBe(false);
    expect(isGranted).toBe(false);
    second.release();
    expect(isGranted).toBe(true);
    expect(third.waitedMs).toBeGreaterThan(0);
    third.release();
    first.release();
    expect(memory.usedBytes).toBe(0);
  });

  it('forgets waiters that are gone', () => {
    const memory = new BodyMemory(50, 25);
    const [first, second] = [memory.open(), memory.open()];
    first.hold(50, never);
    expect(second.hold(10, never)).toBe(false);
    second.release();
    first.release();
    expect(memory.usedBytes).toBe(0);
  });

  it('lets bodies of the largest size all finish, sequentially in the worst case', () => {
    const memory = new BodyMemory(100, 25);
    const shares = Array.from({ length: 20 }, () => ({ share: memory.open(), sizeBytes: 0 }));
    const runnable = new Set(shares);
    let mostBytes = 0;
    let done = 0;
    while (runnable.size > 0) {
      const [one] = runnable;
      if (!one) break;
      runnable.delete(one);
      one.sizeBytes += 1;
      const hasIt = one.share.hold(one.sizeBytes, () => runnable.add(one));
      mostBytes = Math.max(mostBytes, memory.usedBytes);
      if (!hasIt) continue;
      if (one.sizeBytes < 25) {
        runnable.add(one);
      } else {
        one.share.release();
        done += 1;
      }
    }
    expect(done).toBe(20);
    expect(mostBytes).toBeLessThanOrEqual(100);
    expect(memory.usedBytes).toBe(0);
  });
});
