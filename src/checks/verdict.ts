import type { EvaluatedAssertion } from './assertion.ts';
import { type Failure, failure } from './failure.ts';

/** What a measured operation is judged by. null means no limit. */
export interface VerdictInput {
  readonly responseTimeMs: number;
  readonly degradedResponseTime: number | null;
  readonly maxResponseTime: number | null;
  readonly assertions: readonly EvaluatedAssertion[];
  /** Why the operation itself counts as failed for this check (its status, or a port that is open), if it does. */
  readonly operationFailure?: Failure | undefined;
}

export interface Verdict {
  readonly failure: Failure | undefined;
  readonly isDegraded: boolean;
  readonly overMaxResponseTime: boolean;
  readonly errorMessages: readonly string[];
}

/**
 * The verdict on an operation that was carried out (spec: hasFailures, isDegraded, overMaxResponseTime). Everything
 * that went wrong gets a message of its own; the first one gives the failure its code. Limits are exclusive: a response
 * of exactly the limit is still in time. Degraded is only what has not failed.
 */
export function judge(input: VerdictInput): Verdict {
  const { responseTimeMs, degradedResponseTime, maxResponseTime, assertions, operationFailure } = input;
  const failures: Failure[] = operationFailure ? [operationFailure] : [];
  for (const assertion of assertions) {
    if (assertion.error !== null) failures.push(failure('ASSERTION_FAILED', assertionMessage(assertion)));
  }
  const overMaxResponseTime = maxResponseTime !== null && responseTimeMs > maxResponseTime;
  if (overMaxResponseTime) {
    const message = `Response time ${responseTimeMs}ms exceeded ${maxResponseTime}ms`;
    failures.push(failure('MAX_RESPONSE_TIME_EXCEEDED', message));
  }
  const isOverDegraded = degradedResponseTime !== null && responseTimeMs > degradedResponseTime;
  return {
    failure: failures[0],
    isDegraded: failures.length === 0 && isOverDegraded,
    overMaxResponseTime,
    errorMessages: failures.map(({ message }) => message),
  };
}

/** "Assertion failed: <source> <property> <comparison> <target>, received <actual>". */
function assertionMessage({ source, property, comparison, target, actual }: EvaluatedAssertion): string {
  const words = [source, property, comparison, String(target)].filter((word) => word !== '');
  return `Assertion failed: ${words.join(' ')}, received ${shownValue(actual)}`;
}

const maxShownLength = 300;

/** A value as messages show it: text as it is, anything else as JSON, both cut. */
export function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
}
