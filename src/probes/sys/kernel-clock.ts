import type { Libc } from './libc.ts';
import { CLOCK_MONOTONIC, CLOCK_REALTIME } from './linux.ts';

/** Whose stamps times are made of: the kernel's, or those of events in a thread that may have been late. */
export type StampClock = 'kernel' | 'event';

/** A point in time of one of the kernel's clocks, exact to the nanosecond. */
export interface KernelTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

export const timespecSizeBytes = 16;

/** Reads a `struct timespec`. */
export function readTimespec(buffer: Buffer, offset: number): KernelTime {
  return {
    // Not as a BigInt, which costs more than the system call. Times before 1970 have no stamps.
    seconds: buffer.readUInt32LE(offset) + buffer.readUInt32LE(offset + 4) * 2 ** 32,
    nanoseconds: buffer.readUInt32LE(offset + 8),
  };
}

/** Milliseconds from one point in time to another of the same clock. */
export function msBetween(from: KernelTime, to: KernelTime): number {
  return (to.seconds - from.seconds) * 1000 + (to.nanoseconds - from.nanoseconds) / 1_000_000;
}

/** The kernel's clocks, read the same way as it stamps packets. */
export class KernelClock {
  readonly #libc: Libc;
  readonly #time = Buffer.alloc(timespecSizeBytes);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** The clock of receive timestamps. It jumps when somebody sets it. */
  realtime(): KernelTime {
    this.#libc.clockGettime(CLOCK_REALTIME, this.#time);
    return readTimespec(this.#time, 0);
  }

  /** The clock that only goes forward. */
  monotonic(): KernelTime {
    this.#libc.clockGettime(CLOCK_MONOTONIC, this.#time);
    return readTimespec(this.#time, 0);
  }
}

/**
 * The time from sending a packet to the kernel's receive stamp. A stamp is of the realtime clock; when
 * somebody set that clock meanwhile, the difference lies outside of what the monotonic clock allows, which
 * then is the answer: never too short, and too long by no more than the time the packet waited for us.
 *
 * @param elapsedMs monotonic time from sending until now.
 */
export function roundTripMs(sentAt: KernelTime, receivedAt: KernelTime, elapsedMs: number): number {
  const stampedMs = msBetween(sentAt, receivedAt);
  return stampedMs >= 0 && stampedMs <= elapsedMs ? stampedMs : elapsedMs;
}
