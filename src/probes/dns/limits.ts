import { ProbeError } from '../connection/errors.ts';
import { isTimeout } from '../connection/interruption.ts';
import type { ConnectionOptions } from '../connection/target.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import type { Timekeeper } from '../kernel-thread/timekeeper.ts';

/** How long a query may go on, and where it may go. */
export interface QueryControls {
  /** Asked for the address of the server, right before anything is sent there. */
  readonly egress: ConnectionPolicy;
  /** Aborting ends the query as `aborted`, or as unanswered when its reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** In milliseconds from now. */
  readonly timeoutMs: number;
  /**
   * When a query over UDP that was answered with what is no DNS message waits no longer for something better, by
   * `performance.now()`; its limit when absent.
   */
  readonly malformedAtMs?: number | undefined;
  /** Called with every datagram and connect that was begun, so that it can be watched on the wire. */
  readonly onAttempt?: ConnectionOptions['onAttempt'];
  /** Who says when things happened; the one of this thread when absent. */
  readonly timekeeper?: Timekeeper | undefined;
}

/** How an exchange ends: once, whichever comes first. */
export interface Settle<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/**
 * Runs an exchange that calls back, and ends it at its limits. However it ends, what it opened is closed
 * exactly once.
 *
 * @param where the server, for messages.
 * @param start begins the exchange and returns what closes it.
 * @param expired the error for a limit that has passed.
 */
export function withinLimits<Value>(
  controls: Pick<QueryControls, 'signal' | 'timeoutMs'>,
  where: string,
  start: (settle: Settle<Value>) => () => void,
  expired: () => ProbeError = () => noAnswer(where, controls.timeoutMs),
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let close: (() => void) | undefined;
    let isSettled = false;
    const settle = (finish: () => void) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      controls.signal.removeEventListener('abort', onAbort);
      close?.();
      finish();
    };
    const expire = () => {
      if (!isSettled) {
        const error = expired();
        settle(() => reject(error));
      }
    };
    // What had arrived by then is read first: a thread that was late must not call it missing.
    const expireAfterReading = () => void setImmediate(expire);
    const onAbort = () => {
      const { reason } = controls.signal;
      if (isTimeout(reason)) return expireAfterReading();
      const message = `the run was stopped while ${where} was being queried`;
      settle(() => reject(new ProbeError('aborted', 'firstByte', message)));
    };
    const timer = setTimeout(expireAfterReading, Math.max(0, controls.timeoutMs));
    controls.signal.addEventListener('abort', onAbort, { once: true });
    if (controls.signal.aborted) return onAbort();
    try {
      close = start({
        resolve: (value) => settle(() => resolve(value)),
        reject: (error) => settle(() => reject(error)),
      });
    } catch (thrown) {
      settle(() => reject(thrown));
    }
    if (isSettled) close?.();
  });
}

/**
 * @param waitedMs for how long an answer would have been heard, had there been one; 0 where that is not known.
 * @param remark more about it, such as what was ignored meanwhile.
 */
export function noAnswer(where: string, timeoutMs: number, waitedMs = 0, remark = ''): ProbeError {
  const message = `no response from ${where} within ${Math.max(0, Math.round(timeoutMs))} ms${remark}`;
  const error = new ProbeError('response-timeout', 'firstByte', message, 'ETIMEDOUT');
  error.waitedMs = waitedMs;
  return error;
}
