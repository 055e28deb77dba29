import { backoffDelayMs } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { ErrorBody } from '@picket/protocol/http/route.ts';

/**
 * Consequence of a failed call to the service for the caller. Decided here and nowhere else.
 * - `refused`: 401 or 403. The key is revoked or wrong: take no more work, retry slowly.
 * - `rejected`: any other response that a retry cannot cure. The status says what was wrong with the request.
 * - `busy`: 429 or 503 with a time to come back, which is honoured.
 * - `unreachable`: no usable response (network, timeout, 5xx, or a body that violates the protocol: a proxy may have
 *   sent it). Retry with back-off.
 * - `stopped`: the caller gave up waiting (its signal aborted). Nothing is wrong.
 */
export type ServiceErrorKind = 'refused' | 'rejected' | 'busy' | 'unreachable' | 'stopped';

export class ServiceError extends AppError {
  readonly kind: ServiceErrorKind;
  /** Status of the response, if there was one. */
  readonly httpStatus: number | undefined;
  /** The `Retry-After` of the response, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether the response seems to come from another server: the path is unknown, and the body does not have the
   * service's error format. A proxy does this during a deployment, or another site that took over the host name.
   */
  readonly isFromElsewhere: boolean;

  constructor(
    kind: ServiceErrorKind,
    message: string,
    details: {
      readonly httpStatus?: number | undefined;
      readonly retryAfterMs?: number | undefined;
      /** Whether the response has the service's error format. */
      readonly isServiceBody?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(kind === 'refused' || kind === 'rejected' ? 'SERVICE_REFUSED' : 'SERVICE_UNREACHABLE', message, {
      cause: details.cause,
    });
    this.name = 'ServiceError';
    this.kind = kind;
    this.httpStatus = details.httpStatus;
    this.retryAfterMs = details.retryAfterMs;
    this.isFromElsewhere = isNotHere(details.httpStatus) && details.isServiceBody !== true;
  }
}

/** Whether a status says that nothing is served at a path, rather than that the request is wrong. */
function isNotHere(httpStatus = 0): boolean {
  return (httpStatus >= 300 && httpStatus < 400) || [404, 405, 410, 421].includes(httpStatus);
}

/** Kind of error for an HTTP status that is not 2xx. */
export function kindOfStatus(httpStatus: number, retryAfterMs: number | undefined): ServiceErrorKind {
  if (httpStatus === 401 || httpStatus === 403) return 'refused';
  if (httpStatus === 429) return 'busy';
  if (httpStatus === 503 && retryAfterMs !== undefined) return 'busy';
  if (httpStatus >= 500 || httpStatus === 408 || httpStatus === 407) return 'unreachable';
  return 'rejected';
}

const maxRetryAfterMs = 600_000;

/**
 * Parses a `Retry-After` header to milliseconds: seconds, or a date, which is compared with the response's own `Date`
 * because the local clock may be wrong. At most ten minutes. undefined if absent or malformed.
 */
export function parseRetryAfter(
  value: string | undefined,
  answeredAt: string | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  const delayMs = Date.parse(text) - Date.parse(answeredAt ?? '');
  return Number.isFinite(delayMs) ? Math.min(Math.max(delayMs, 0), maxRetryAfterMs) : undefined;
}

/** The agent must reconnect within five seconds once the service is back, so the cap is lower. */
const quick = { baseMs: 1000, capMs: 4000, floorMs: 50 };
/** A refused key is rarely accepted soon; frequent retries only add load. */
const slow = { baseMs: 10_000, capMs: 60_000, floorMs: 5000 };

/**
 * Delay before a failed call is retried, in milliseconds: full jitter, with a floor that prevents a busy loop, and
 * never less than `Retry-After`.
 *
 * @param attempt 0 for the first retry.
 */
export function retryDelayMs(error: ServiceError, attempt: number): number {
  // Every service version has the agent's routes: if the path is unknown, the host name points elsewhere for now.
  const isSlow = error.kind === 'refused' || (error.kind === 'rejected' && !isNotHere(error.httpStatus));
  const pace = isSlow ? slow : quick;
  const jitterMs = Math.max(pace.floorMs, backoffDelayMs(attempt, pace));
  return error.kind === 'busy' && error.retryAfterMs !== undefined ? error.retryAfterMs + jitterMs : jitterMs;
}

/** A fresh result should be visible two seconds after the service is back. */
const prompt = { baseMs: 500, capMs: 1500, floorMs: 50 };

/** Like `retryDelayMs`, for results that the service did not take: shorter, unless the service requested a delay. */
export function resultRetryDelayMs(error: ServiceError, attempt: number): number {
  if (error.kind !== 'unreachable') return retryDelayMs(error, attempt);
  return Math.max(prompt.floorMs, backoffDelayMs(attempt, prompt));
}

/** Message of an error response of the service; undefined if the body is not in the service's error format. */
export function messageOf(text: string): string | undefined {
  if (text.length > 65_536) return undefined;
  try {
    const parsed = ErrorBody.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.message : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
