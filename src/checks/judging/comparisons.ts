import type { WorkBudget } from '@picket/lib/bounds/work-budget.ts';
import { compareNumbers, isJsonNumber, type JsonNumber, jsonNumber } from '@picket/lib/json/exact-number.ts';
import { JsonTooLarge, parseJson } from '@picket/lib/json/json-document.ts';
import { areJsonEqual, isContainer, jsonText } from '@picket/lib/json/json-values.ts';
import { ageMismatch, ageMs, ageProblem } from './age/age.ts';
import type { Comparison } from './assertion.ts';
import { SchemaError, schemaMismatch } from './json-schema/json-schema.ts';
import { shownValue } from './verdict.ts';

/** The target is not valid for the comparison. */
export class TargetError extends Error {}

const elementWise: ReadonlySet<Comparison> = new Set([
  'EQUALS',
  'NOT_EQUALS',
  'GREATER_THAN',
  'LESS_THAN',
  'AGE_LESS_THAN',
  'AGE_GREATER_THAN',
]);
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** One comparison with its target, in counted steps; numbers are compared by all their digits. */
export class TargetComparison {
  readonly #comparison: Comparison;
  readonly #target: string;
  readonly #budget: WorkBudget;
  #json: { readonly value: unknown } | undefined;
  #number: JsonNumber | undefined;

  constructor(comparison: Comparison, target: string, budget: WorkBudget) {
    this.#comparison = comparison;
    this.#target = target;
    this.#budget = budget;
  }

  /**
   * Returns why the comparison does not hold for a value, or null if it does.
   *
   * @throws TargetError, WorkExceeded.
   */
  problem(actual: unknown): string | null {
    const comparison = this.#comparison;
    this.#budget.spend(1);
    if (Array.isArray(actual) && elementWise.has(comparison)) return this.#arrayProblem(actual);
    if (comparison === 'MATCHES_SCHEMA') return this.#schemaProblem(actual);
    if (comparison === 'AGE_LESS_THAN' || comparison === 'AGE_GREATER_THAN') return this.#ageProblem(actual);
    const isNumeric = comparison === 'GREATER_THAN' || comparison === 'LESS_THAN';
    if (isNumeric) {
      if (Number.isNaN(this.#targetNumber())) {
        throw new TargetError(`the target ${JSON.stringify(this.#target)} is not a number`);
      }
      if (Number.isNaN(this.#toNumber(actual))) {
        return `received ${shownValue(actual)}, which is not a number`;
      }
    }
    return this.#holds(actual) ? null : explain(comparison, this.#target, actual);
  }

  /**
   * Compares an array: it equals a target that is the same array in JSON; otherwise each of its elements must hold. An
   * empty array has no element that could equal or exceed a target.
   */
  #arrayProblem(actual: readonly unknown[]): string | null {
    const comparison = this.#comparison;
    const whole = this.#targetJson();
    if (Array.isArray(whole) && (comparison === 'EQUALS' || comparison === 'NOT_EQUALS')) {
      const isSame = areJsonEqual(actual, whole, this.#budget);
      return isSame === (comparison === 'EQUALS') ? null : explain(comparison, this.#target, actual);
    }
    if (actual.length === 0) {
      return comparison === 'NOT_EQUALS' ? null : explain(comparison, this.#target, actual);
    }
    for (const element of actual) {
      const problem = Array.isArray(element) ? this.#elementProblem(element) : this.problem(element);
      if (problem !== null) return problem;
    }
    return null;
  }

  #elementProblem(element: readonly unknown[]): string | null {
    this.#budget.spend(1);
    return this.#holds(element) ? null : explain(this.#comparison, this.#target, element);
  }

  #schemaProblem(actual: unknown): string | null {
    if (actual === undefined) return explain('MATCHES_SCHEMA', this.#target, actual);
    try {
      const mismatch = schemaMismatch(this.#target, actual, this.#budget);
      return mismatch === null ? null : `does not match the JSON schema: ${mismatch}`;
    } catch (thrown) {
      if (thrown instanceof SchemaError) throw new TargetError(thrown.message);
      throw thrown;
    }
  }

  #ageProblem(actual: unknown): string | null {
    const ms = ageMs(this.#target);
    if (ms === undefined) throw new TargetError(`the target ${ageProblem(this.#target)}`);
    if (typeof actual === 'string') this.#budget.spendText(actual.length);
    const isLess = this.#comparison === 'AGE_LESS_THAN';
    const mismatch = ageMismatch(actual, { isLess, ms }, Date.now());
    return mismatch === null ? null : `${explain(this.#comparison, this.#target, actual)}, ${mismatch}`;
  }

  #holds(actual: unknown): boolean {
    switch (this.#comparison) {
      case 'EQUALS':
        return this.#equals(actual);
      case 'NOT_EQUALS':
        return !this.#equals(actual);
      case 'GREATER_THAN':
        return compareNumbers(this.#toNumber(actual), this.#targetNumber()) > 0;
      case 'LESS_THAN':
        return compareNumbers(this.#toNumber(actual), this.#targetNumber()) < 0;
      case 'CONTAINS':
        return this.#contains(actual);
      case 'NOT_CONTAINS':
        return !this.#contains(actual);
      case 'IS_EMPTY':
        return this.#isEmpty(actual);
      case 'NOT_EMPTY':
        return !this.#isEmpty(actual);
      case 'IS_NULL':
        return actual === undefined || actual === null;
      case 'NOT_NULL':
        return actual !== undefined && actual !== null;
      case 'HAS_KEY':
        return isContainer(actual) && Object.hasOwn(actual, this.#target);
      case 'NOT_HAS_KEY':
        return !(isContainer(actual) && Object.hasOwn(actual, this.#target));
      case 'HAS_VALUE':
        return this.#hasValue(actual);
      case 'NOT_HAS_VALUE':
        return !this.#hasValue(actual);
      case 'MATCHES_SCHEMA':
      case 'AGE_LESS_THAN':
      case 'AGE_GREATER_THAN':
        return this.problem(actual) === null;
    }
  }

  /** Equality by the type of the found value; the target is always text. */
  #equals(actual: unknown): boolean {
    if (isJsonNumber(actual)) return compareNumbers(this.#targetNumber(), actual) === 0;
    switch (typeof actual) {
      case 'boolean':
        return this.#target === String(actual);
      case 'string':
        this.#budget.spendText(actual.length);
        return actual === this.#target;
      case 'object':
        return actual === null
          ? this.#target === 'null'
          : areJsonEqual(actual, this.#targetJson(), this.#budget);
      default:
        return false;
    }
  }

  #contains(actual: unknown): boolean {
    if (typeof actual === 'string') {
      this.#budget.spendText(actual.length);
      return actual.includes(this.#target);
    }
    if (Array.isArray(actual)) return this.#hasValue(actual);
    if (isContainer(actual)) {
      const text = wholeText(actual);
      this.#budget.spend(text.length / 8);
      return text.includes(this.#target);
    }
    return actual !== undefined && actual !== null && String(actual).includes(this.#target);
  }

  #isEmpty(actual: unknown): boolean {
    if (actual === undefined || actual === null || actual === '') return true;
    if (!isContainer(actual)) return false;
    if (Array.isArray(actual)) return actual.length === 0;
    const { length } = Object.keys(actual);
    this.#budget.spend(length);
    return length === 0;
  }

  #hasValue(actual: unknown): boolean {
    if (!isContainer(actual)) return false;
    const values: readonly unknown[] = Array.isArray(actual) ? actual : Object.values(actual);
    this.#budget.spend(values.length);
    return values.some((value) => this.#equals(value));
  }

  #targetNumber(): JsonNumber {
    this.#number ??= this.#toNumber(this.#target);
    return this.#number;
  }

  /** The target as JSON; undefined if it is not JSON. */
  #targetJson(): unknown {
    this.#json ??= { value: parsedJson(this.#target) };
    return this.#json.value;
  }

  /** Like `Number()` but with all digits, and an empty text is not a number. */
  #toNumber(value: unknown): JsonNumber {
    if (isJsonNumber(value)) return value;
    if (typeof value !== 'string') return Number.NaN;
    this.#budget.spendText(value.length);
    const text = value.trim();
    if (text === '') return Number.NaN;
    return decimal.test(text) ? jsonNumber(text) : Number(text);
  }
}

/** Same output as `JSON.stringify`, whose recursion overflows the stack for deeply nested values. */
function wholeText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    if (thrown instanceof RangeError) return jsonText(value);
    throw thrown;
  }
}

function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof JsonTooLarge) throw new TargetError(`the target cannot be used: ${error.message}`);
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
  MATCHES_SCHEMA: 'JSON that matches the schema',
  AGE_LESS_THAN: 'a time less than',
  AGE_GREATER_THAN: 'a time more than',
};
const withoutTarget: ReadonlySet<Comparison> = new Set(['IS_EMPTY', 'NOT_EMPTY', 'IS_NULL', 'NOT_NULL']);

/** Explains in words why a comparison does not hold. */
export function explain(comparison: Comparison, target: string, actual: unknown): string {
  const shown = withoutTarget.has(comparison) ? '' : shownValue(target);
  const wanted = comparison.startsWith('AGE_') ? `${shown} ago` : shown;
  return `expected ${`${phrases[comparison]} ${wanted}`.trim()}, received ${shownValue(actual)}`;
}
