import { jsonText } from '@picket/lib/json/json-values.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { assertionWords, type EvaluatedAssertion, failureCode, receivedWords } from './assertion.ts';

/** Criteria for a measured operation. null means no limit. */
export interface VerdictInput {
  readonly responseTimeMs: number;
  readonly degradedResponseTime: number | null;
  readonly maxResponseTime: number | null;
  readonly assertions: readonly EvaluatedAssertion[];
  /** Why the operation itself counts as failed for this check (its status, or an open port), if it does. */
  readonly operationFailure?: Failure | undefined;
  /** Other failures, apart from the operation: they come last. */
  readonly furtherFailures?: readonly Failure[] | undefined;
  /** Whether the run is degraded for reasons other than the time, so that a shorter time would not help. */
  readonly isDegraded?: boolean | undefined;
}

export interface Verdict {
  readonly failure: Failure | undefined;
  readonly isDegraded: boolean;
  readonly overMaxResponseTime: boolean;
  readonly errorMessages: readonly string[];
  /**
   * By how many milliseconds the response time exceeds the limit of the better verdict; undefined if there is another
   * problem as well, or no problem.
   */
  readonly timeExcessMs: number | undefined;
}

/**
 * Judges an operation that was carried out (spec: hasFailures, isDegraded, overMaxResponseTime). Every problem has a
 * message of its own; the first one determines the failure code. Limits are exclusive: a response of exactly the limit
 * is still in time. A failed run is not degraded.
 */
export function judge(input: VerdictInput): Verdict {
  const { responseTimeMs, degradedResponseTime, maxResponseTime, assertions, operationFailure } = input;
  const failures: Failure[] = operationFailure ? [operationFailure] : [];
  const excessesMs: (number | undefined)[] = operationFailure ? [undefined] : [];
  for (const assertion of assertions) {
    if (assertion.error === null) continue;
    failures.push(failureOf(assertion));
    excessesMs.push(assertionExcessMs(assertion));
  }
  const overMaxResponseTime = maxResponseTime !== null && responseTimeMs > maxResponseTime;
  if (overMaxResponseTime) {
    const message = `Response time ${responseTimeMs}ms exceeded ${maxResponseTime}ms`;
    failures.push(failure('MAX_RESPONSE_TIME_EXCEEDED', message));
    excessesMs.push(responseTimeMs - maxResponseTime);
  }
  for (const further of input.furtherFailures ?? []) {
    failures.push(further);
    excessesMs.push(undefined);
  }
  const isOverDegraded = degradedResponseTime !== null && responseTimeMs > degradedResponseTime;
  if (failures.length === 0 && input.isDegraded) excessesMs.push(undefined);
  if (failures.length === 0 && isOverDegraded) excessesMs.push(responseTimeMs - degradedResponseTime);
  return {
    failure: failures[0],
    isDegraded: failures.length === 0 && (isOverDegraded || input.isDegraded === true),
    overMaxResponseTime,
    errorMessages: failures.map(({ message }) => message),
    timeExcessMs: largest(excessesMs),
  };
}

/** Sources of assertions that a shorter time would satisfy: those with an upper bound of a time. */
const timeSources: ReadonlySet<string> = new Set(['RESPONSE_TIME', 'LATENCY']);

function assertionExcessMs({ source, comparison, target, actual }: EvaluatedAssertion): number | undefined {
  const [time, bound] = [Number(actual), Number(target)];
  if (!timeSources.has(source) || comparison !== 'LESS_THAN') return undefined;
  return typeof actual === 'number' && bound > 0 ? time - bound : undefined;
}

function largest(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 || known.length < numbers.length ? undefined : Math.max(...known);
}

function failureOf(assertion: EvaluatedAssertion): Failure {
  const { source, property, comparison, target, actual, error } = assertion;
  const words = [source, property, comparison, String(target)].filter((word) => word !== '').join(' ');
  const code = assertion[failureCode] ?? 'ASSERTION_FAILED';
  return code === 'ASSERTION_FAILED'
    ? failure(code, `${assertionWords}${words}${receivedWords}${shownValue(actual)}`)
    : failure(code, `Assertion cannot be evaluated: ${words}: ${error}`);
}

const maxShownLength = 300;

/** Formats a value for messages: text unchanged, anything else as JSON, both truncated. */
export function shownValue(value: unknown): string {
  const text =
    typeof value === 'string' ? value : value === undefined ? 'nothing' : jsonText(value, maxShownLength);
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
}
