import { jsonpath } from 'json-p3';
import { type WorkBudget, WorkExceeded } from '../bounds/work-budget.ts';
import { compareNumbers, isJsonNumber } from './exact-number.ts';
import type { Condition, Operand, Query, Selector } from './json-path-syntax.ts';
import { areJsonEqual, isContainer } from './json-values.ts';

/** More values than a document has: a path selects values twice before it exceeds this. */
const maxSelected = 5_000_000;

/** Result of a query or function without a value (RFC 9535: Nothing). */
const nothing = Symbol('nothing');

const { functions } = jsonpath;
const regexFunctions = {
  match: new functions.Match({ cacheSize: 100 }),
  search: new functions.Search({ cacheSize: 100 }),
};

/**
 * Evaluates a JSON path on a document in counted steps, one per visited value, so the limit depends on the path and the
 * document, not on the speed of the host. Documents may be nested without limit; only nested filters recurse (bounded
 * by the path).
 */
export class PathEvaluation {
  readonly #document: unknown;
  readonly #budget: WorkBudget;
  /** Results of filter queries that begin at the root: the same for every value. */
  readonly #absolute = new Map<Query, unknown[]>();

  constructor(document: unknown, budget: WorkBudget) {
    this.#document = document;
    this.#budget = budget;
  }

  /** @throws WorkExceeded */
  select(query: Query, start: unknown): unknown[] {
    let values = [start];
    for (const { isDescendant, selectors } of query.segments) {
      const selected: unknown[] = [];
      for (const value of values) {
        if (isDescendant) this.#descend(value, selectors, selected);
        else for (const selector of selectors) this.#apply(selector, value, selected);
        if (selected.length > maxSelected) {
          throw new WorkExceeded(`the JSON path selects more than ${maxSelected} values`);
        }
      }
      values = selected;
    }
    return values;
  }

  /** Applies selectors to a value and all its descendants, parents before their children. */
  #descend(top: unknown, selectors: readonly Selector[], selected: unknown[]): void {
    const open: unknown[] = [top];
    while (open.length > 0) {
      const value = open.pop();
      this.#budget.spend(1);
      if (!isContainer(value)) continue;
      for (const selector of selectors) this.#apply(selector, value, selected);
      const children = this.#children(value);
      for (let index = children.length - 1; index >= 0; index--) {
        if (isContainer(children[index])) open.push(children[index]);
      }
    }
  }

  #apply(selector: Selector, value: unknown, selected: unknown[]): void {
    this.#budget.spend(1);
    if (!isContainer(value)) return;
    switch (selector.kind) {
      case 'name':
        if (!Array.isArray(value) && Object.hasOwn(value, selector.name)) {
          selected.push((value as Record<string, unknown>)[selector.name]);
        }
        return;
      case 'index': {
        if (!Array.isArray(value)) return;
        const index = selector.index < 0 ? value.length + selector.index : selector.index;
        if (index >= 0 && index < value.length) selected.push(value[index]);
        return;
      }
      case 'slice':
        if (Array.isArray(value)) this.#slice(value, selector, selected);
        return;
      case 'wildcard':
        for (const child of this.#children(value)) selected.push(child);
        return;
      case 'filter':
        for (const child of this.#children(value)) {
          if (this.#isTrue(selector.condition, child)) selected.push(child);
        }
    }
  }

  #slice(
    values: readonly unknown[],
    { start, stop, step }: Extract<Selector, { kind: 'slice' }>,
    selected: unknown[],
  ): void {
    if (step === 0) return;
    const count = values.length;
    const [least, most] = step > 0 ? [0, count] : [-1, count - 1];
    const place = (given: number | undefined, otherwise: number) =>
      given === undefined ? otherwise : Math.min(most, Math.max(least, given < 0 ? given + count : given));
    const from = place(start, step > 0 ? 0 : count - 1);
    const to = place(stop, step > 0 ? count : -1);
    for (let index = from; step > 0 ? index < to : index > to; index += step) {
      this.#budget.spend(1);
      selected.push(values[index]);
    }
  }

  #children(value: readonly unknown[] | Readonly<Record<string, unknown>>): readonly unknown[] {
    const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    this.#budget.spend(children.length);
    return children;
  }

  #isTrue(condition: Condition, current: unknown): boolean {
    this.#budget.spend(1);
    switch (condition.kind) {
      case 'and':
        return this.#isTrue(condition.left, current) && this.#isTrue(condition.right, current);
      case 'or':
        return this.#isTrue(condition.left, current) || this.#isTrue(condition.right, current);
      case 'not':
        return !this.#isTrue(condition.condition, current);
      case 'exists':
        return this.#queried(condition.query, current).length > 0;
      case 'compare':
        return this.#compare(
          this.#valueOf(condition.left, current),
          condition.operator,
          this.#valueOf(condition.right, current),
        );
      case 'match': {
        const text = this.#valueOf(condition.text, current);
        const pattern = this.#valueOf(condition.pattern, current);
        if (typeof text !== 'string' || typeof pattern !== 'string') return false;
        this.#budget.spendText(text.length + pattern.length);
        return regexFunctions[condition.name].call(text, pattern);
      }
    }
  }

  #queried(query: Query, current: unknown): readonly unknown[] {
    if (!query.isAbsolute) return this.select(query, current);
    let values = this.#absolute.get(query);
    if (!values) {
      values = this.select(query, this.#document);
      this.#absolute.set(query, values);
    }
    return values;
  }

  #valueOf(operand: Operand, current: unknown): unknown {
    switch (operand.kind) {
      case 'literal':
        return operand.value;
      case 'query':
      case 'value': {
        const values = this.#queried(operand.query, current);
        return values.length === 1 ? values[0] : nothing;
      }
      case 'count':
        return this.#queried(operand.query, current).length;
      case 'length':
        return this.#lengthOf(this.#valueOf(operand.of, current));
    }
  }

  /** The length of a text is counted in Unicode characters. */
  #lengthOf(value: unknown): unknown {
    if (typeof value === 'string') {
      this.#budget.spend(value.length);
      let length = 0;
      for (const _character of value) length++;
      return length;
    }
    return isContainer(value) ? Object.keys(value).length : nothing;
  }

  #compare(left: unknown, operator: string, right: unknown): boolean {
    switch (operator) {
      case '==':
        return areJsonEqual(left, right, this.#budget);
      case '!=':
        return !areJsonEqual(left, right, this.#budget);
      case '<':
        return this.#isLess(left, right);
      case '>':
        return this.#isLess(right, left);
      case '<=':
        return this.#isLess(left, right) || areJsonEqual(left, right, this.#budget);
      default:
        return this.#isLess(right, left) || areJsonEqual(left, right, this.#budget);
    }
  }

  #isLess(left: unknown, right: unknown): boolean {
    if (isJsonNumber(left) && isJsonNumber(right)) return compareNumbers(left, right) < 0;
    if (typeof left !== 'string' || typeof right !== 'string') return false;
    this.#budget.spendText(left.length);
    return left < right;
  }
}
