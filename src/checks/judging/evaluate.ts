import { isDeepStrictEqual } from 'node:util';
import { firstMatch, RegexError } from '../../lib/bounded-regex.ts';
import { JsonPathError, selectJson } from '../../lib/jsonpath.ts';
import type { Assertion, Comparison, EvaluatedAssertion } from './assertion.ts';
import { isCredentialHeader, mask, maskedHeaders } from './credential-headers.ts';
import { shownValue } from './verdict.ts';

/** What an assertion's source holds after a run. */
export type SourceValue =
  /** Compared as it is; the property is not used. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** The property is a regular expression or ""; with "" it may stand in `regex` instead. */
  | { readonly kind: 'text'; readonly text: string }
  /** The property is a name in any case, or "" for all of them; `regex` narrows a value. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  /** The property names one of the fields. */
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  /** The property is a JSON path, or "" for the whole document. */
  | { readonly kind: 'json'; readonly document: unknown }
  /** There is nothing to compare, for that reason. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** The sources of a check type, each read when the first assertion asks for it. */
export type Sources = Readonly<Record<string, () => SourceValue>>;

/**
 * Evaluates all assertions, in their order and without stopping at one that fails. A wrong assertion (no such
 * source, a bad regular expression or path) is one that failed, with the reason.
 *
 * @param assertions with the templates of their targets filled in.
 */
export function evaluateAssertions(assertions: readonly Assertion[], sources: Sources): EvaluatedAssertion[] {
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
    return evaluate(assertion, value);
  });
}

function evaluate(assertion: Assertion, source: SourceValue): EvaluatedAssertion {
  try {
    return compared(assertion, source);
  } catch (thrown) {
    const { property, comparison, target, regex } = assertion;
    const base = { source: assertion.source, property, comparison, regex };
    return { ...base, target, actual: null, error: reasonOf(thrown) };
  }
}

/**
 * Why an assertion could not be evaluated. What is neither its own fault nor the document's is ours: thrown
 * again.
 */
function reasonOf(thrown: unknown): string {
  // A target may nest its document deeper than the stack is.
  if (thrown instanceof RangeError) return `the value cannot be compared: ${thrown.message}`;
  if (thrown instanceof AssertionError || thrown instanceof RegexError || thrown instanceof JsonPathError) {
    return thrown.message;
  }
  throw thrown;
}

function compared(assertion: Assertion, source: SourceValue): EvaluatedAssertion {
  const { property, comparison, regex } = assertion;
  const isKeyWanted = comparison === 'HAS_KEY' || comparison === 'NOT_HAS_KEY';
  // Names of headers have no case, and the map has them in lower case.
  const target =
    source.kind === 'headers' && isKeyWanted ? assertion.target.trim().toLowerCase() : assertion.target;
  const base = { source: assertion.source, property, comparison, regex };
  const nodes = extract(source, assertion);
  const actual = nodes.length > 1 ? nodes : nodes[0];
  // Several nodes: the comparison has to hold for each. None: there is one undefined value to compare.
  const operands = nodes.length > 1 ? nodes : [nodes[0]];
  const problem = operands
    .map((operand) => problemOf(operand, comparison, target))
    .find((text) => text !== null);
  const isNumber = typeof actual === 'number' && target.trim() !== '' && Number.isFinite(Number(target));
  const shown = shownOf(source, property, actual);
  const error =
    problem !== undefined && shown !== actual ? explain(comparison, target, shown) : (problem ?? null);
  return {
    ...base,
    target: isNumber ? Number(target) : assertion.target,
    actual: boundedActual(shown),
    error,
  };
}

/** What may be shown of a value: credential headers are compared, but not shown. */
function shownOf(source: SourceValue, property: string, actual: unknown): unknown {
  if (source.kind !== 'headers' || actual === undefined) return actual;
  if (property === '') return maskedHeaders(source.headers);
  return isCredentialHeader(property) ? mask : actual;
}

/** The assertion cannot be evaluated; the message says why. */
class AssertionError extends Error {}

/**
 * Time for one user-written regular expression, in milliseconds; meanwhile the probe thread does nothing
 * else.
 */
const regexTimeoutMs = 250;

function extract(source: SourceValue, { property, regex }: Assertion): readonly unknown[] {
  switch (source.kind) {
    case 'value':
      return [source.value];
    case 'text': {
      const pattern = property === '' ? regex : property;
      return [pattern ? captured(pattern, source.text) : source.text];
    }
    case 'headers': {
      if (property === '') return [source.headers];
      const value = header(source.headers, property);
      if (value === undefined || !regex) return [value];
      return [captured(regex, value)];
    }
    case 'fields':
      return [Object.hasOwn(source.fields, property) ? source.fields[property] : undefined];
    case 'json':
      return property === '' ? [source.document] : selectJson(property, source.document);
    case 'unavailable':
      throw new AssertionError(source.reason);
  }
}

/** First capture group of the first match; the whole match when the expression has no group. */
function captured(pattern: string, text: string): string | undefined {
  const match = firstMatch(pattern, text, regexTimeoutMs);
  if (!match) return undefined;
  return match.length > 1 ? match[1] : match[0];
}

function header(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  const key = name.trim().toLowerCase();
  return Object.hasOwn(headers, key) ? headers[key] : undefined;
}

const elementWise: ReadonlySet<Comparison> = new Set(['EQUALS', 'NOT_EQUALS', 'GREATER_THAN', 'LESS_THAN']);

/** Why a comparison does not hold, or null when it does. */
function problemOf(actual: unknown, comparison: Comparison, target: string): string | null {
  if (Array.isArray(actual) && elementWise.has(comparison)) return arrayProblem(actual, comparison, target);
  const isNumeric = comparison === 'GREATER_THAN' || comparison === 'LESS_THAN';
  if (isNumeric) {
    if (Number.isNaN(toNumber(target))) return `the target ${JSON.stringify(target)} is not a number`;
    if (Number.isNaN(toNumber(actual))) return `received ${shownValue(actual)}, which is not a number`;
  }
  return holds(actual, comparison, target) ? null : explain(comparison, target, actual);
}

/**
 * An array as a whole equals a target that is that array in JSON; otherwise each of its elements has to fit.
 * There is nothing in an empty array that could equal or exceed a target.
 */
function arrayProblem(actual: readonly unknown[], comparison: Comparison, target: string): string | null {
  const whole = parsedJson(target);
  if (Array.isArray(whole) && (comparison === 'EQUALS' || comparison === 'NOT_EQUALS')) {
    const isSame = isDeepStrictEqual(actual, whole);
    return isSame === (comparison === 'EQUALS') ? null : explain(comparison, target, actual);
  }
  if (actual.length === 0) {
    return comparison === 'NOT_EQUALS' ? null : explain(comparison, target, actual);
  }
  for (const element of actual) {
    const problem = Array.isArray(element)
      ? holds(element, comparison, target)
        ? null
        : explain(comparison, target, element)
      : problemOf(element, comparison, target);
    if (problem !== null) return problem;
  }
  return null;
}

function holds(actual: unknown, comparison: Comparison, target: string): boolean {
  switch (comparison) {
    case 'EQUALS':
      return equals(actual, target);
    case 'NOT_EQUALS':
      return !equals(actual, target);
    case 'GREATER_THAN':
      return toNumber(actual) > toNumber(target);
    case 'LESS_THAN':
      return toNumber(actual) < toNumber(target);
    case 'CONTAINS':
      return contains(actual, target);
    case 'NOT_CONTAINS':
      return !contains(actual, target);
    case 'IS_EMPTY':
      return isEmpty(actual);
    case 'NOT_EMPTY':
      return !isEmpty(actual);
    case 'IS_NULL':
      return actual === undefined || actual === null;
    case 'NOT_NULL':
      return actual !== undefined && actual !== null;
    case 'HAS_KEY':
      return hasKey(actual, target);
    case 'NOT_HAS_KEY':
      return !hasKey(actual, target);
    case 'HAS_VALUE':
      return hasValue(actual, target);
    case 'NOT_HAS_VALUE':
      return !hasValue(actual, target);
  }
}

/** Equality by the type of what was found; the target is always text. */
function equals(actual: unknown, target: string): boolean {
  switch (typeof actual) {
    case 'number':
      return toNumber(target) === actual;
    case 'boolean':
      return target === String(actual);
    case 'string':
      return actual === target;
    case 'object':
      return actual === null ? target === 'null' : isDeepStrictEqual(actual, parsedJson(target));
    default:
      return false;
  }
}

function contains(actual: unknown, target: string): boolean {
  if (typeof actual === 'string') return actual.includes(target);
  if (Array.isArray(actual)) return actual.some((element) => equals(element, target));
  if (typeof actual === 'object' && actual !== null) return JSON.stringify(actual).includes(target);
  return actual !== undefined && actual !== null && String(actual).includes(target);
}

function isEmpty(actual: unknown): boolean {
  if (actual === undefined || actual === null || actual === '') return true;
  return typeof actual === 'object' && Object.keys(actual).length === 0;
}

function hasKey(actual: unknown, target: string): boolean {
  return typeof actual === 'object' && actual !== null && Object.hasOwn(actual, target);
}

function hasValue(actual: unknown, target: string): boolean {
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.values(actual).some((value) => equals(value, target));
}

/** `Number()`, except that an empty text is no number. */
function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const phrases: Readonly<Record<Comparison, string>> = {
  EQUALS: '',
  NOT_EQUALS: 'anything but',
  HAS_KEY: 'the key',
  NOT_HAS_KEY: 'no key',
  HAS_VALUE: 'the value',
  NOT_HAS_VALUE: 'no value',
  IS_EMPTY: 'nothing',
  NOT_EMPTY: 'something',
  GREATER_THAN: 'more than',
  LESS_THAN: 'less than',
  CONTAINS: 'something that contains',
  NOT_CONTAINS: 'nothing that contains',
  IS_NULL: 'null',
  NOT_NULL: 'anything but null',
};
const withoutTarget: ReadonlySet<Comparison> = new Set(['IS_EMPTY', 'NOT_EMPTY', 'IS_NULL', 'NOT_NULL']);

function explain(comparison: Comparison, target: string, actual: unknown): string {
  const wanted = withoutTarget.has(comparison) ? '' : shownValue(target);
  return `expected ${`${phrases[comparison]} ${wanted}`.trim()}, received ${shownValue(actual)}`;
}

const maxActualLength = 4096;

/** What was found, small enough to be stored with every result. */
function boundedActual(actual: unknown): unknown {
  if (actual === undefined) return null;
  if (typeof actual === 'string') {
    return actual.length > maxActualLength ? `${actual.slice(0, maxActualLength)}…` : actual;
  }
  if (typeof actual !== 'object' || actual === null) return actual;
  const json = JSON.stringify(actual);
  return json.length > maxActualLength ? `${json.slice(0, maxActualLength)}…` : actual;
}
