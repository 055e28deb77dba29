import { firstMatch, RegexError } from '@picket/lib/bounds/bounded-regex.ts';
import { WorkBudget, WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { ExactNumber, isDouble, isJsonNumber } from '@picket/lib/json/exact-number.ts';
import { JsonPathError, selectJson } from '@picket/lib/json/json-path.ts';
import { isContainer, jsonText } from '@picket/lib/json/json-values.ts';
import type { FailureCode } from '../contract/failure.ts';
import { type Assertion, type EvaluatedAssertion, failureCode } from './assertion.ts';
import { explain, TargetComparison, TargetError } from './comparisons.ts';
import { isCredentialHeader, mask, maskedHeaders } from './credential-headers.ts';

/** Value of an assertion's source after a run. */
export type SourceValue =
  /** Compared directly; the property is not used. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** The property is a regular expression or ""; with "" the expression may be in `regex` instead. */
  | { readonly kind: 'text'; readonly text: string }
  /** The property is a name in any case, or "" for all headers; `regex` narrows a value. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  /** The property names one of the fields. */
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  /** The property is a JSON path, or "" for the whole document. */
  | { readonly kind: 'json'; readonly document: unknown }
  /** Nothing to compare, for that reason; the default code is ASSERTION_FAILED. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly code?: FailureCode };

/** The sources of a check type, each read when the first assertion needs it. */
export type Sources = Readonly<Record<string, () => SourceValue>>;

/** Limit for all assertions of one run: less than half a second of its thread. */
export function assertionBudget(): WorkBudget {
  return new WorkBudget({ steps: 20_000_000, cpuMs: 250 });
}

/**
 * Evaluates all assertions, in order and without stopping at a failed one. An assertion that cannot be evaluated
 * (unknown source, invalid regular expression or path, too much work) fails, with the reason and a code of its own.
 *
 * @param assertions with the templates of their targets filled in.
 * @param budget of the run, if it evaluates more than once.
 * @throws ThreadStarved
 */
export function evaluateAssertions(
  assertions: readonly Assertion[],
  sources: Sources,
  budget = assertionBudget(),
): EvaluatedAssertion[] {
  const known = new Map<string, SourceValue>();
  return assertions.map((assertion) => {
    let value = known.get(assertion.source);
    if (!value) {
      value = sources[assertion.source]?.() ?? {
        kind: 'unavailable',
        reason: `this check has no source ${assertion.source}`,
      };
      known.set(assertion.source, value);
    }
    return evaluate(assertion, value, budget);
  });
}

function evaluate(assertion: Assertion, source: SourceValue, budget: WorkBudget): EvaluatedAssertion {
  const { property, comparison, regex } = assertion;
  const unevaluated = (error: string, code: FailureCode): EvaluatedAssertion => {
    const shown = boundedTarget(assertion);
    const base = {
      source: assertion.source,
      property,
      comparison,
      target: shown,
      regex,
      actual: null,
      error,
    };
    // Not enumerable: only the verdict needs it.
    return Object.defineProperty(base, failureCode, { value: code });
  };
  if (source.kind === 'unavailable') return unevaluated(source.reason, source.code ?? 'ASSERTION_FAILED');
  try {
    return compared(assertion, source, budget);
  } catch (thrown) {
    if (thrown instanceof WorkExceeded) return unevaluated(thrown.message, 'ASSERTION_TOO_COSTLY');
    const isInvalid =
      thrown instanceof RegexError || thrown instanceof JsonPathError || thrown instanceof TargetError;
    if (isInvalid) return unevaluated(thrown.message, 'ASSERTION_INVALID');
    throw thrown;
  }
}

type Available = Exclude<SourceValue, { readonly kind: 'unavailable' }>;

function compared(assertion: Assertion, source: Available, budget: WorkBudget): EvaluatedAssertion {
  const { property, comparison, regex } = assertion;
  const isKeyWanted = comparison === 'HAS_KEY' || comparison === 'NOT_HAS_KEY';
  // Header names are case-insensitive, and the map has them in lower case.
  const target =
    source.kind === 'headers' && isKeyWanted ? assertion.target.trim().toLowerCase() : assertion.target;
  const base = { source: assertion.source, property, comparison, regex };
  const nodes = extract(source, assertion, budget);
  const actual = nodes.length > 1 ? nodes : nodes[0];
  // Several nodes: the comparison must hold for each. No node: compare one undefined value.
  const operands = nodes.length > 1 ? nodes : [nodes[0]];
  const problem = firstProblem(operands, new TargetComparison(comparison, target, budget));
  const isNumber = isJsonNumber(actual) && Number.isFinite(Number(target)) && isDouble(target);
  const shown = shownOf(source, property, actual);
  const error = problem !== null && shown !== actual ? explain(comparison, target, shown) : problem;
  return {
    ...base,
    target: isNumber && target.trim() !== '' ? Number(target) : boundedTarget(assertion),
    actual: boundedActual(shown),
    error,
  };
}

function firstProblem(operands: readonly unknown[], comparison: TargetComparison): string | null {
  for (const operand of operands) {
    const problem = comparison.problem(operand);
    if (problem !== null) return problem;
  }
  return null;
}

/** Masks a value for the result: credential headers are compared, but not shown. */
function shownOf(source: SourceValue, property: string, actual: unknown): unknown {
  if (source.kind !== 'headers' || actual === undefined) return actual;
  if (property === '') return maskedHeaders(source.headers);
  return isCredentialHeader(property) ? mask : actual;
}

function extract(source: Available, { property, regex }: Assertion, budget: WorkBudget): readonly unknown[] {
  switch (source.kind) {
    case 'value':
      return [source.value];
    case 'text': {
      const pattern = property === '' ? regex : property;
      return [pattern ? captured(pattern, source.text, budget) : source.text];
    }
    case 'headers': {
      if (property === '') return [source.headers];
      const value = header(source.headers, property);
      if (value === undefined || !regex) return [value];
      return [captured(regex, value, budget)];
    }
    case 'fields':
      return [Object.hasOwn(source.fields, property) ? source.fields[property] : undefined];
    case 'json':
      return property === '' ? [source.document] : selectJson(property, source.document, budget);
  }
}

/** First capture group of the first match; the whole match if the expression has no group. */
function captured(pattern: string, text: string, budget: WorkBudget): string | undefined {
  const match = firstMatch(pattern, text, budget);
  if (!match) return undefined;
  return match.length > 1 ? match[1] : match[0];
}

function header(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  const key = name.trim().toLowerCase();
  return Object.hasOwn(headers, key) ? headers[key] : undefined;
}

const maxActualLength = 4096;

/** A schema may be far longer than a result; the check has all of it. */
function boundedTarget({ comparison, target }: Assertion): string {
  if (comparison !== 'MATCHES_SCHEMA' || target.length <= maxActualLength) return target;
  return `${target.slice(0, maxActualLength)}…`;
}

/** Truncates a found value to a size that every result may store. */
function boundedActual(actual: unknown): unknown {
  if (actual === undefined) return null;
  if (typeof actual === 'string') {
    return actual.length > maxActualLength ? `${actual.slice(0, maxActualLength)}…` : actual;
  }
  if (typeof actual !== 'object' || actual === null) return actual;
  const json = jsonText(actual, maxActualLength);
  return json.length > maxActualLength ? `${json.slice(0, maxActualLength)}…` : withNumbersAsText(actual);
}

/** Converts numbers that no double represents exactly to text, because readers of a result would round them. */
function withNumbersAsText(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return value.map(withNumbersAsText);
  if (!isContainer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNumbersAsText(item)]));
}
