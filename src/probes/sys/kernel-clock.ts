import type { Libc } from './libc.ts';
import { CLOCK_MONOTONIC, CLOCK_REALTIME } from './linux.ts';

/** Source of timestamps: the kernel, or events in a thread that may have been late. */
export type StampClock = 'kernel' | 'event';

/** A time of one of the kernel's clocks, in nanoseconds. */
export interface KernelTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

export const timespecSizeBytes = 16;

/** Reads a `struct timespec`. */
export function readTimespec(buffer: Buffer, offset: number): KernelTime {
  return {
    // Not a BigInt, which costs more than the system call. Timestamps before 1970 do not occur.
    seconds: buffer.readUInt32LE(offset) + buffer.readUInt32LE(offset + 4) * 2 ** 32,
    nanoseconds: buffer.readUInt32LE(offset + 8),
  };
}

const originSeconds = Math.floor(Date.now() / 1000);

/**
 * Milliseconds of a kernel's clock since this process began, as one number: exact to nanoseconds for months, which a
 * number of milliseconds since 1970 is not.
 */
export function kernelMs(seconds: number, nanoseconds: number): number {
  return (seconds - originSeconds) * 1000 + nanoseconds / 1_000_000;
}

/** Milliseconds between two times of the same clock. */
export function msBetween(from: KernelTime, to: KernelTime): number {
  return (to.seconds - from.seconds) * 1000 + (to.nanoseconds - from.nanoseconds) / 1_000_000;
}

/** The kernel's clocks, the same ones that timestamp packets. */
export class KernelClock {
  readonly #libc: Libc;
  readonly #time = Buffer.alloc(timespecSizeBytes);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** The clock of receive timestamps. It jumps when it is set. */
  realtime(): KernelTime {
    this.#libc.clockGettime(CLOCK_REALTIME, this.#time);
    return readTimespec(this.#time, 0);
  }

  /** The same; see `kernelMs`. */
  realtimeMs(): number {
    const { seconds, nanoseconds } = this.realtime();
    return kernelMs(seconds, nanoseconds);
  }

  /** A clock that never goes backwards. */
  monotonic(): KernelTime {
    this.#libc.clockGettime(CLOCK_MONOTONIC, this.#time);
    return readTimespec(this.#time, 0);
  }
}

/**
 * Returns the time from sending a packet to the kernel's receive timestamp. Timestamps use the realtime clock; if that
 * clock was set meanwhile, the difference exceeds the bounds of the monotonic clock, and the monotonic time is returned
 * instead: never too short, and too long by at most the time the packet waited for us.
 *
 * @param elapsedMs monotonic time from sending until now.
 */
export function roundTripMs(sentAt: KernelTime, receivedAt: KernelTime, elapsedMs: number): number {
  const stampedMs = msBetween(sentAt, receivedAt);
  return stampedMs >= 0 && stampedMs <= elapsedMs ? stampedMs : elapsedMs;
}
