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
export const quickestHandshakeStartMs = 0.4;
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
  /** Undefined where nobody knows. */
  readonly interruption?: Interruption | undefined;
}

/** What the kernel says of the data after a write; only asked where the clock leaves it open. */
export interface SentData {
  /** Before when they were not sent. */
  notBefore(): number;
  /** Whether the peer has confirmed all of them by now. */
  isConfirmed(): boolean;
}

/** When something was sent, as far as its sender can tell. */
export interface WriteMoment {
  readonly atMs: number;
  /** By how much it may have been at another time. */
  readonly doubtMs: number;
}

/**
 * When something was sent that was written between two instants. Right after the write, as a rule. A write that took
 * much longer was interrupted: most likely by the one who got the data, as a busy kernel lets him run as soon as they are
 * there, or by somebody else before or after the sending. What the peer has confirmed by the end of one interruption was
 * sent before it: then the moment is known. Else the data are taken to have left when they would have left
 * undisturbed, unless the kernel knows that it was later, and how far that may be off is in doubt.
 */
export function writeMoment(
  { beforeMs, afterMs, usualMs = usualWriteMs, interruption }: WriteStamps,
  data: SentData,
): WriteMoment {
  const tookMs = afterMs - beforeMs;
  if (tookMs <= usualMs + toleranceMs) return { atMs: afterMs, doubtMs: 0 };
  if (interruption) {
    const ownMs = tookMs - interruption.waitedMs;
    const isUsual = ownMs >= 0 && ownMs <= usualMs + toleranceMs;
    if (isUsual && interruption.waitedMs <= toleranceMs) return { atMs: afterMs, doubtMs: 0 };
    if (isUsual && interruption.turnCount === 1 && data.isConfirmed()) {
      return { atMs: beforeMs + ownMs, doubtMs: 0 };
    }
  }
  const atMs = Math.min(afterMs, Math.max(beforeMs + usualMs, data.notBefore()));
  return { atMs, doubtMs: afterMs - atMs };
}
