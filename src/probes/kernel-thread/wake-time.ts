import type { RunDelay } from '../sys/run-delay.ts';

/** When an awaited event happened, as far as the thread can tell. */
export interface WakeTime {
  /** The most likely time, in milliseconds of the monotonic clock. */
  readonly atMs: number;
  /** Error bound of `atMs`. */
  readonly doubtMs: number;
}

/** A wait between two readings of the thread's run delay. */
export interface Wait {
  /** When the thread last found that no event was pending. */
  readonly lookedAtMs: number;
  readonly askedAtMs: number;
  /** Timeout of the wait. */
  readonly timeoutMs: number;
  readonly returnedAtMs: number;
  readonly before: RunDelay;
  readonly after: RunDelay;
}

/** A shorter wait does not count as sleep. */
const shortestSleepMs = 0.1;

/**
 * Determines when the thread was woken. On a busy host it runs some milliseconds later, and the kernel counts that
 * delay: a thread that slept and then waited for a processor once was woken that long before it returned. If it was
 * interrupted as well, that is only a lower bound. The same applies if it slept for its full timeout: the timeout woke
 * it, and the events arrived while it had no processor. A thread that did not sleep finds events from the time since it
 * last looked, whether it was working or waiting for a processor.
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
