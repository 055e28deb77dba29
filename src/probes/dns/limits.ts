import { ProbeError } from '../connection/errors.ts';
import { isTimeout } from '../connection/interruption.ts';
import type { ConnectionOptions } from '../connection/target.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import type { Timekeeper } from '../kernel-thread/timekeeper.ts';

/** Limits, policy and observers of a query. */
export interface QueryControls {
  /** Checks the server's address right before anything is sent there. */
  readonly egress: ConnectionPolicy;
  /** Aborting ends the query with `aborted`, or with a timeout if the reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** In milliseconds from now. */
  readonly timeoutMs: number;
  /**
   * When a UDP query that received only malformed datagrams stops waiting for a valid response, by `performance.now()`;
   * defaults to the query's deadline.
   */
  readonly malformedAtMs?: number | undefined;
  /** Called for every datagram and connect that has begun, so that it can be captured. */
  readonly onAttempt?: ConnectionOptions['onAttempt'];
  /** Source of timestamps; defaults to the timekeeper of this thread. */
  readonly timekeeper?: Timekeeper | undefined;
}

/** Ends an exchange; the first call wins. */
export interface Settle<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/**
 * Runs a callback-based exchange and ends it at its limits. However it ends, its resources are closed exactly once.
 *
 * @param where the server, for messages.
 * @param start begins the exchange and returns a function that closes it.
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
    // Data that arrived before the deadline is read first: a late thread must not report it as missing.
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
 * @param waitedMs how long a response could have been received; 0 if unknown.
 * @param remark additional detail, such as datagrams that were ignored meanwhile.
 */
export function noAnswer(where: string, timeoutMs: number, waitedMs = 0, remark = ''): ProbeError {
  const message = `no response from ${where} within ${Math.max(0, Math.round(timeoutMs))} ms${remark}`;
  const error = new ProbeError('response-timeout', 'firstByte', message, 'ETIMEDOUT');
  error.waitedMs = waitedMs;
  return error;
}
