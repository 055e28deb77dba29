import type { WakeTime } from './wake-time.ts';

/** What a server sends at once: ten segments of Ethernet (RFC 6928). */
export const burstBytes = 14_600;

/** Between these two instants of one clock, in milliseconds, something happened. */
export interface TimeSpan {
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** What TCP_INFO says of when something happened at a connection. */
export interface TickedAge {
  /** How long ago it was when that was read, counted in the kernel's ticks. */
  readonly sinceMs: number;
  /** Of how many milliseconds a tick is. */
  readonly stepMs: number;
}

/** When something happened of which the kernel gave the age between two instants. Both ends of an age are rounded to ticks. */
export function spanOf({ sinceMs, stepMs }: TickedAge, readFromMs: number, readUntilMs: number): TimeSpan {
  return {
    earliestMs: readFromMs - sinceMs - stepMs,
    latestMs: Math.min(readUntilMs, readUntilMs - sinceMs + stepMs),
  };
}

/**
 * What a stamp and the kernel's own account of the same arrival say together. A stamp that is sure stays as it is, and one
 * that is not is narrowed down. Where the two contradict each other, one of them is wrong, and nobody knows which.
 */
export function agreedTime(stamp: WakeTime, span: TimeSpan): WakeTime {
  const earliestMs = Math.max(stamp.atMs - stamp.doubtMs, span.earliestMs);
  const latestMs = Math.min(stamp.atMs, span.latestMs);
  if (earliestMs > latestMs) {
    const middleMs = (span.earliestMs + span.latestMs) / 2;
    return { atMs: stamp.atMs, doubtMs: Math.max(stamp.doubtMs, Math.abs(stamp.atMs - middleMs)) };
  }
  return { atMs: (earliestMs + latestMs) / 2, doubtMs: (latestMs - earliestMs) / 2 };
}
