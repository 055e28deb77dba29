import { KernelClock } from '../sys/kernel-clock.ts';
import { loadLibc, SysUnavailable } from '../sys/libc.ts';

/** The time of this host in epoch milliseconds. */
export type WallClock = () => number;

/** Half of the resolution of `Date.now()`, which cuts off fractions. */
const halfTickMs = 0.5;

/** Returns the clock of the kernel, with its microseconds; without system calls, one that is right to the millisecond. */
export async function loadWallClock(): Promise<WallClock> {
  try {
    const clock = new KernelClock(await loadLibc());
    return () => {
      const { seconds, nanoseconds } = clock.realtime();
      return seconds * 1000 + nanoseconds / 1_000_000;
    };
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable)) throw thrown;
    return () => Date.now() + halfTickMs;
  }
}
