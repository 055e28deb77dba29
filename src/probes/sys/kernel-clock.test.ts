import { describe, expect, it } from 'vitest';
import { KernelClock, msBetween, roundTripMs } from './kernel-clock.ts';
import { loadLibc } from './libc.ts';

const at = (seconds: number, nanoseconds = 0) => ({ seconds, nanoseconds });

describe.skipIf(process.platform !== 'linux')('the kernel clock', () => {
  it('reads the wall clock and a monotonic clock', async () => {
    const clock = new KernelClock(await loadLibc());
    const startedSeconds = Math.floor(Date.now() / 1000);
    const { seconds } = clock.realtime();
    expect(seconds).toBeGreaterThanOrEqual(startedSeconds);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000);
    let before = clock.monotonic();
    for (let read = 0; read < 1000; read += 1) {
      const now = clock.monotonic();
      expect(msBetween(before, now)).toBeGreaterThanOrEqual(0);
      before = now;
    }
  });

  it('counts across seconds to the nanosecond', () => {
    expect(msBetween(at(1_800_000_000, 999_999_999), at(1_800_000_001, 1))).toBeCloseTo(0.000002, 9);
  });
});

describe('a round trip', () => {
  it('is the difference of the timestamps', () => {
    expect(roundTripMs(at(10, 0), at(10, 20_000_000), 25)).toBe(20);
  });

  it.each([
    ['forward an hour', at(3610, 20_000_000)],
    ['back ten minutes', at(-590, 20_000_000)],
  ])('uses the monotonic clock if the wall clock was set %s meanwhile', (_name, receivedAt) => {
    expect(roundTripMs(at(10, 0), receivedAt, 25)).toBe(25);
  });
});
