import type { TimeSpan } from './arrival-time.ts';

/** A write that exceeds its usual duration by more than this was interrupted. */
const toleranceMs = 0.5;

/** Duration of an uninterrupted small write. */
export const usualWriteMs = 0.1;
/**
 * Time to build and send a ClientHello: half a millisecond, but it occasionally triggers a garbage collection, before
 * the send.
 */
export const usualHandshakeStartMs = 4;
/** Minimum time to build a ClientHello. */
export const quickestHandshakeStartMs = 0.2;
/** Minimum time between a request and its response. */
export const quickestAnswerMs = 0.1;

/** Time in which a thread was runnable but not running, during a write. */
export interface Interruption {
  readonly waitedMs: number;
  /** Number of times it had to wait for a processor; it resumed after each. */
  readonly turnCount: number;
}

/** A write between two readings of the clock. */
export interface WriteStamps {
  readonly beforeMs: number;
  readonly afterMs: number;
  /** Duration of such a write when uninterrupted, if longer than the default. */
  readonly usualMs?: number | undefined;
  /** Only called if it matters; undefined if unknown. */
  readonly interruption?: (() => Interruption | undefined) | undefined;
}

/** The kernel's information about the data after a write; only called if the clock is not conclusive. */
export interface SentData {
  /** The span in which the data was sent. */
  span(): TimeSpan;
  /** Whether the peer has confirmed all data, sooner than possible if it had been sent at the end of the write. */
  isConfirmed(): boolean;
}

/** When data was sent, as far as the sender can tell. */
export interface WriteMoment {
  /** The most likely time. */
  readonly atMs: number;
  /** Error bound of `atMs`. */
  readonly doubtMs: number;
  /** Lower bound, whatever later evidence says. */
  readonly earliestMs: number;
}

/**
 * Determines when data written between two instants was sent. Usually right at the end of the write. A much longer
 * write was interrupted: by the receiver, which a busy kernel may run as soon as the data is there, or by another
 * process before or after the send. After one interruption there are two candidate times, and the kernel's age of the
 * send, or a peer that confirmed the data too soon for the later one, may exclude one of them. Otherwise the send was
 * within the kernel's span, and its middle is used. A small write without better information from the kernel is assumed
 * to have sent its data as fast as an uninterrupted one: interruptions before the send are rare.
 */
export function writeMoment(
  { beforeMs, afterMs, usualMs = usualWriteMs, interruption }: WriteStamps,
  data: SentData,
): WriteMoment {
  // Too short for a relevant interruption.
  if (afterMs - beforeMs <= toleranceMs) return { atMs: afterMs, doubtMs: 0, earliestMs: beforeMs };
  const mostMs = usualMs + toleranceMs;
  const { waitedMs, turnCount } = interruption?.() ?? { waitedMs: 0, turnCount: 0 };
  const ownMs = afterMs - beforeMs - waitedMs;
  const isUsual = ownMs >= 0 && ownMs <= mostMs;
  if (isUsual && waitedMs <= toleranceMs) return { atMs: afterMs, doubtMs: 0, earliestMs: beforeMs };
  const span = data.span();
  if (isUsual && turnCount === 1) {
    const undisturbedMs = beforeMs + ownMs;
    if (undisturbedMs < span.earliestMs) {
      return { atMs: afterMs, doubtMs: 0, earliestMs: beforeMs + waitedMs };
    }
    if (afterMs > span.latestMs || data.isConfirmed()) {
      return { atMs: undisturbedMs, doubtMs: 0, earliestMs: beforeMs };
    }
  }
  const usuallyMs = beforeMs + Math.min(usualMs, Math.max(0, ownMs));
  const earliestMs = Math.min(afterMs, Math.max(usuallyMs, span.earliestMs));
  const latestMs = Math.max(earliestMs, Math.min(afterMs, span.latestMs));
  const isNarrowed = earliestMs > usuallyMs || latestMs < afterMs;
  const atMs = isNarrowed || usualMs > usualWriteMs ? (earliestMs + latestMs) / 2 : earliestMs;
  return { atMs, doubtMs: latestMs - atMs, earliestMs };
}

/** Refines a send time, given that the response had arrived by `answeredMs`. */
export function momentBefore(write: WriteMoment, answeredMs: number): WriteMoment {
  const latestMs = answeredMs - quickestAnswerMs;
  if (latestMs >= write.atMs + write.doubtMs) return write;
  const earliestMs = Math.min(write.earliestMs, latestMs);
  if (write.doubtMs === 0) return { ...write, atMs: earliestMs, earliestMs };
  const atMs = Math.min(write.atMs, (earliestMs + latestMs) / 2);
  return { atMs, doubtMs: Math.max(atMs - earliestMs, latestMs - atMs), earliestMs };
}
