import { backoffDelayMs } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { ErrorBody } from '@picket/protocol/http/route.ts';

/**
 * What a failed call to the service means for the caller. Decided here and nowhere else.
 * - `refused`: 401 or 403. The key is revoked or wrong: take no more work, ask again slowly.
 * - `rejected`: any other answer that repeating cannot cure. The status says what was wrong with the request.
 * - `busy`: 429 or 503 with a time to come back, which is honoured.
 * - `unreachable`: no usable answer (network, time-out, 5xx, or a body that is not what the protocol says: a
 * proxy may
 *   have sent it). Repeat with back-off.
 * - `stopped`: the caller gave up waiting (its signal aborted). Nothing is wrong.
 */
export type ServiceErrorKind = 'refused' | 'rejected' | 'busy' | 'unreachable' | 'stopped';

export class ServiceError extends AppError {
  readonly kind: ServiceErrorKind;
  /** Status of the answer, when there was one. */
  readonly httpStatus: number | undefined;
  /** The `Retry-After` of the answer, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether something else than the service seems to have answered: nothing is known at the path, in words that are
   * not the service's. A proxy that is being changed does so, and a page that took the service's name.
   */
  readonly isFromElsewhere: boolean;

  constructor(
    kind: ServiceErrorKind,
    message: string,
    details: {
      readonly httpStatus?: number | undefined;
      readonly retryAfterMs?: number | undefined;
      /** Whether the answer has the form of the service's own errors. */
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

/** Whether a status says that nothing answers at a path, rather than that something is wrong with a request. */
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
 * Milliseconds in a `Retry-After` header: seconds, or a date, which is read against the answer's own `Date`
 * because our clock may be wrong. At most ten minutes. undefined when absent or not understood.
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

/** Reconnecting takes at most this long after the service is back, so the cap is below five seconds. */
const quick = { baseMs: 1000, capMs: 4000, floorMs: 50 };
/** A key that was refused will rarely be accepted soon; knocking often helps nobody. */
const slow = { baseMs: 10_000, capMs: 60_000, floorMs: 5000 };

/**
 * How long to wait before repeating a failed call, in milliseconds: full jitter, never less than a floor so
 * that it cannot become a busy loop, and never before `Retry-After`.
 *
 * @param attempt 0 for the first repetition.
 */
export function retryDelayMs(error: ServiceError, attempt: number): number {
  // Every service knows the agent's calls: where nothing is at their path, the name leads elsewhere for now.
  const isSlow = error.kind === 'refused' || (error.kind === 'rejected' && !isNotHere(error.httpStatus));
  const pace = isSlow ? slow : quick;
  const jitterMs = Math.max(pace.floorMs, backoffDelayMs(attempt, pace));
  return error.kind === 'busy' && error.retryAfterMs !== undefined ? error.retryAfterMs + jitterMs : jitterMs;
}

/** A fresh result is to be seen two seconds after the service is back. */
const prompt = { baseMs: 500, capMs: 1500, floorMs: 50 };

/** The same for results that the service did not take: sooner, as long as it has not asked for anything. */
export function resultRetryDelayMs(error: ServiceError, attempt: number): number {
  if (error.kind !== 'unreachable') return retryDelayMs(error, attempt);
  return Math.max(prompt.floorMs, backoffDelayMs(attempt, prompt));
}

/** What an error answer of the service says; undefined for a body that is not the service's own. */
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
