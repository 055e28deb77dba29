import type { AssertStep } from '@picket/checks/agentic/plan/step.ts';
import { WorkBudget, WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { JsonTooLarge, parseJson } from '@picket/lib/json/json-document.ts';
import { JsonPathError, selectJson } from '@picket/lib/json/json-path.ts';
import { jsonText } from '@picket/lib/json/json-values.ts';

/** Work budget for one JSON path on a body. */
const budget = { steps: 100_000, cpuMs: 100 };

/**
 * Whether an assertion holds for a value. Code decides, never a model: a page could address a model.
 *
 * @param actual null if the subject was not found.
 */
export function holds({ comparison, expected }: AssertStep['input'], actual: string | null): boolean {
  if (actual === null) return false;
  const [left, right] = [plain(actual), plain(expected)];
  switch (comparison) {
    case 'EQUALS':
      return left === right;
    case 'NOT_EQUALS':
      return left !== right;
    case 'CONTAINS':
      return left.includes(right);
    case 'NOT_CONTAINS':
      return !left.includes(right);
    case 'GREATER_THAN':
      return numberIn(left) > numberIn(right);
    case 'LESS_THAN':
      return numberIn(left) < numberIn(right);
  }
}

/** The value that the JSON path of an assertion selects from the body. */
export function selected(body: string, path: string): string | null {
  try {
    const [first] = selectJson(path, parseJson(body), new WorkBudget(budget));
    if (first === undefined) return null;
    return typeof first === 'string' ? first : jsonText(first);
  } catch (thrown) {
    if (thrown instanceof SyntaxError || thrown instanceof JsonPathError) return null;
    if (thrown instanceof JsonTooLarge || thrown instanceof WorkExceeded) return null;
    throw thrown;
  }
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The first number in a text such as `€ 1,234.50`; NaN without one, for which every comparison is false. */
function numberIn(text: string): number {
  const [found] = /[-+]?\d[\d,. ]*/.exec(text) ?? [];
  if (found === undefined) return Number.NaN;
  const digits = found.replaceAll(' ', '').replace(/[.,]+$/, '');
  const isCommaDecimal = /^[-+]?\d+(?:\.\d{3})*,\d{1,2}$/.test(digits);
  return Number(isCommaDecimal ? digits.replaceAll('.', '').replace(',', '.') : digits.replaceAll(',', ''));
}
