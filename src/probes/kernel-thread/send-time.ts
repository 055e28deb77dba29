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

/** A write between two looks at the clock. */
export interface WriteStamps {
  readonly beforeMs: number;
  readonly afterMs: number;
  /** What such a write takes when nothing comes in between, if that is more than usual. */
  readonly usualMs?: number | undefined;
}

/**
 * When something was sent that was written between two instants. Right after the write, as a rule. A write
 * that took much longer was interrupted, and most likely by the one who got the data: on a busy host the
 * kernel lets him run as soon as they are there, and this thread finds out about the time when it is all
 * over. So the data are taken to have left when they would have left undisturbed, unless the kernel knows
 * that it was later. How far that may be off is the run's lag.
 *
 * @param notBefore before which data were not sent, as far as the kernel knows.
 */
export function writeMoment(
  { beforeMs, afterMs, usualMs = usualWriteMs }: WriteStamps,
  notBefore: () => number,
): number {
  if (afterMs - beforeMs <= usualMs + toleranceMs) return afterMs;
  return Math.min(afterMs, Math.max(beforeMs + usualMs, notBefore()));
}
