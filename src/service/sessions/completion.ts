import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';

const firstPauseMs = 100;
const longestPauseMs = 1000;

/**
 * Waits until something is done, polling with increasing intervals. Any process may end a run, so the store is the only
 * place to check.
 *
 * @param stop ends the wait early: the caller disconnected, or the service is stopping.
 * @throws AppError NOT_FINISHED if the time is over.
 */
export async function waitUntilDone<T>(
  look: () => Promise<{ readonly isDone: boolean; readonly value: T }>,
  options: {
    readonly clock: Clock;
    readonly maxWaitMs: number;
    readonly stop: AbortSignal;
    /** Subject of the wait, for error messages. */
    readonly what?: string;
  },
): Promise<T> {
  const { clock, maxWaitMs, stop, what = 'session' } = options;
  const endMs = clock.monotonicMs() + maxWaitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const { isDone, value } = await look();
    if (isDone) return value;
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0 || stop.aborted) {
      throw new AppError('NOT_FINISHED', `The ${what} has not finished yet. Request it again.`);
    }
    await clock.sleep(Math.min(pauseMs, leftMs), stop);
  }
}
