import type { WakeTime } from './wake-time.ts';

/** Initial burst of a server: ten Ethernet segments (RFC 6928). */
export const burstBytes = 14_600;

/** An event happened between these two instants of one clock, in milliseconds. */
export interface TimeSpan {
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** Age of an event on a connection, according to TCP_INFO. */
export interface TickedAge {
  /** Age at the time of reading, in whole kernel ticks. */
  readonly sinceMs: number;
  /** Length of a tick, in milliseconds. */
  readonly stepMs: number;
}

/** Time span of an event, from its age as read between two instants; ages are rounded to ticks at both ends. */
export function spanOf({ sinceMs, stepMs }: TickedAge, readFromMs: number, readUntilMs: number): TimeSpan {
  return {
    earliestMs: readFromMs - sinceMs - stepMs,
    latestMs: Math.min(readUntilMs, readUntilMs - sinceMs + stepMs),
  };
}

/**
 * Combines a timestamp and the kernel's own time span of the same arrival. An exact timestamp is kept, an inexact one
 * is narrowed down. If the two contradict each other, one of them is wrong, and which one is unknown.
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
