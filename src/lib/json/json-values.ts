import type { WorkBudget } from '../bounds/work-budget.ts';
import { compareNumbers, ExactNumber, isJsonNumber } from './exact-number.ts';

/** An array or an object of a JSON document. */
export function isContainer(value: unknown): value is readonly unknown[] | Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber);
}

/** Whether two JSON values are equal at any depth: keys in any order, numbers by all of their digits. */
export function areJsonEqual(left: unknown, right: unknown, budget: WorkBudget): boolean {
  const pairs: [unknown, unknown][] = [[left, right]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [one, other] = pair;
    budget.spend(1);
    if (typeof one === 'string') budget.spendText(one.length);
    if (one === other) continue;
    if (isJsonNumber(one) && isJsonNumber(other)) {
      if (compareNumbers(one, other) !== 0) return false;
      continue;
    }
    if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other)) return false;
    const keys = Object.keys(one);
    if (keys.length !== Object.keys(other).length) return false;
    budget.spend(keys.length);
    for (const key of keys) {
      if (!Object.hasOwn(other, key)) return false;
      pairs.push([(one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]]);
    }
  }
  return true;
}

interface OpenContainer {
  readonly container: Readonly<Record<string, unknown>>;
  readonly keys: readonly string[];
  readonly isArray: boolean;
  at: number;
  isEmpty: boolean;
}

/**
 * Returns the beginning of a value as JSON, about `maxLength` characters: the output of `JSON.stringify`, but at any
 * nesting depth and without serializing the rest.
 */
export function jsonText(value: unknown, maxLength = Number.POSITIVE_INFINITY): string {
  const parts: string[] = [];
  let length = 0;
  const open: OpenContainer[] = [];
  const write = (part: string) => {
    parts.push(part);
    length += part.length;
  };
  const begin = (item: unknown) => {
    if (isContainer(item)) {
      const isArray = Array.isArray(item);
      // The keys of a long array would take more memory than the requested text.
      const keys = isArray ? [] : Object.keys(item);
      open.push({ container: item as Record<string, unknown>, keys, isArray, at: 0, isEmpty: true });
      write(isArray ? '[' : '{');
    } else if (typeof item === 'string' && item.length > maxLength) {
      write(JSON.stringify(item.slice(0, maxLength + 1)));
    } else write(JSON.stringify(item) ?? 'null');
  };
  begin(value);
  for (let top = open.at(-1); top && length <= maxLength; top = open.at(-1)) {
    const count = top.isArray ? (top.container as unknown as readonly unknown[]).length : top.keys.length;
    if (top.at === count) {
      open.pop();
      write(top.isArray ? ']' : '}');
      continue;
    }
    const key = top.isArray ? String(top.at) : (top.keys[top.at] ?? '');
    top.at += 1;
    const item = top.container[key];
    if (!top.isArray && item === undefined) continue;
    if (!top.isEmpty) write(',');
    top.isEmpty = false;
    if (!top.isArray) write(`${JSON.stringify(key)}:`);
    begin(item);
  }
  return parts.join('');
}
