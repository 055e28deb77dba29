import type { TimeSpan } from './arrival-time.ts';

/** How much longer than usual a write may take before something must have come in between. */
const toleranceMs = 0.5;

/** What a small write takes when nothing comes in between. */
export const usualWriteMs = 0.1;
/**
 * What it takes to make a ClientHello and to send it: half a millisecond, but memory is cleaned up there now
 * and then, which comes before the sending.
 */
export const usualHandshakeStartMs = 4;
/** What making a ClientHello takes at least. */
export const quickestHandshakeStartMs = 0.2;
/** Nobody answers faster. */
export const quickestAnswerMs = 0.1;

/** How a thread was kept from running during a write. */
export interface Interruption {
  readonly waitedMs: number;
  /** How often it had to wait for a processor; after each time it went on. */
  readonly turnCount: number;
}

/** A write between two looks at the clock. */
export interface WriteStamps {
  readonly beforeMs: number;
  readonly afterMs: number;
  /** What such a write takes when nothing comes in between, if that is more than usual. */
  readonly usualMs?: number | undefined;
  /** Only asked where it makes a difference; undefined where nobody knows. */
  readonly interruption?: (() => Interruption | undefined) | undefined;
}

/** What the kernel says of the data after a write; only asked where the clock leaves it open. */
export interface SentData {
  /** Between which instants they were sent. */
  span(): TimeSpan;
  /** Whether the peer has confirmed all of them, and could not have if they had been sent at the end of the write. */
  isConfirmed(): boolean;
}

/** When something was sent, as far as its sender can tell. */
export interface WriteMoment {
  /** Most likely then. */
  readonly atMs: number;
  /** By how much it may have been at another time. */
  readonly doubtMs: number;
  /** Not before then, whatever else turns out. */
  readonly earliestMs: number;
}

/**
 * When something was sent that was written between two instants. Right after the write, as a rule. A write that took
 * much longer was interrupted: by the one who got the data, as a busy kernel lets him run as soon as they are there, or by
 * somebody else before or after the sending. After one interruption there are two moments at which it may have been, and
 * the kernel's count of the time since, or a peer that has confirmed the data too soon for the later one, may leave one of
 * them. Else it was in the span that the kernel leaves, and is taken to have been in its middle. Only a small write of which
 * the kernel knows no better is taken to have sent its data as soon as it does undisturbed: it is seldom interrupted
 * before.
 */
export function writeMoment(
  { beforeMs, afterMs, usualMs = usualWriteMs, interruption }: WriteStamps,
  data: SentData,
): WriteMoment {
  // Too quick for anything to have come in between that counts.
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

/** The same moment, once it is known that its answer had come by `answeredMs`. */
export function momentBefore(write: WriteMoment, answeredMs: number): WriteMoment {
  const latestMs = answeredMs - quickestAnswerMs;
  if (latestMs >= write.atMs + write.doubtMs) return write;
  const earliestMs = Math.min(write.earliestMs, latestMs);
  if (write.doubtMs === 0) return { ...write, atMs: earliestMs, earliestMs };
  const atMs = Math.min(write.atMs, (earliestMs + latestMs) / 2);
  return { atMs, doubtMs: Math.max(atMs - earliestMs, latestMs - atMs), earliestMs };
}
