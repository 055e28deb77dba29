import type { RunDelay } from '../sys/run-delay.ts';

/** When something happened that a thread waited for, as far as the thread can tell. */
export interface WakeTime {
  /** Most likely then, in milliseconds of the monotonic clock. */
  readonly atMs: number;
  /** By how much it may have been at another time. */
  readonly doubtMs: number;
}

/** A wait between two readings of what the thread was kept from running. */
export interface Wait {
  /** When the thread saw last that nothing was there. */
  readonly lookedAtMs: number;
  readonly askedAtMs: number;
  /** After how long it ended in any case. */
  readonly timeoutMs: number;
  readonly returnedAtMs: number;
  readonly before: RunDelay;
  readonly after: RunDelay;
}

/** Less than that is no sleep. */
const shortestSleepMs = 0.1;

/**
 * When the thread was woken. On a busy host it runs some milliseconds after that, and the kernel counts them: a thread that
 * slept, and was given a processor once since, was woken that much before it returned. One that was interrupted besides
 * knows only that it was not earlier than that. So does one that slept for as long as it may: the end of its time woke it,
 * and what it finds came while it had no processor. A thread that did not sleep found what had come since it looked last,
 * be it while it was at work or while it had no processor in between.
 */
export function wakeTime({ lookedAtMs, askedAtMs, timeoutMs, returnedAtMs, before, after }: Wait): WakeTime {
  const lateMs = Math.max(0, after.waitedMs - before.waitedMs);
  const isOneTurn = after.turnCount - before.turnCount === 1;
  const sleptMs = returnedAtMs - askedAtMs - lateMs;
  if (sleptMs < shortestSleepMs) return { atMs: returnedAtMs, doubtMs: returnedAtMs - lookedAtMs };
  const isWoken = isOneTurn && sleptMs < timeoutMs - shortestSleepMs;
  if (isWoken) return { atMs: returnedAtMs - lateMs, doubtMs: 0 };
  return { atMs: returnedAtMs, doubtMs: lateMs };
}
