import { CpuLimitExceeded } from '../bounds/cpu-limit.ts';
import { type WorkBudget, WorkExceeded } from '../bounds/work-budget.ts';
import { LruMap } from '../lru.ts';
import { compiledPath, JsonPathError, type Path, patternProblem } from './json-path-syntax.ts';
import { PathEvaluation } from './path-evaluation.ts';

export { JsonPathError };

const paths = new LruMap<string, Path>(1000);

/** Returns why a text is not a usable JSON path, or undefined if it is one. */
export function jsonPathProblem(path: string): string | undefined {
  try {
    const problem = patternProblem(pathOf(path));
    return problem === undefined ? undefined : `${path} is not a usable JSON path: ${problem}`;
  } catch (thrown) {
    if (thrown instanceof JsonPathError) return thrown.message;
    throw thrown;
  }
}

/**
 * Returns the values that a JSON path (RFC 9535) selects, in document order. One extension: `.length` at the end of a
 * path gives the length of the arrays and strings before it, unless members of that name exist.
 *
 * @param document a JSON value as returned by `parseJson`.
 * @throws JsonPathError, WorkExceeded, ThreadStarved.
 */
export function selectJson(path: string, document: unknown, budget: WorkBudget): unknown[] {
  const values = selected(path, document, budget);
  if (values.length > 0 || !path.endsWith(lengthSuffix)) return values;
  return selected(path.slice(0, -lengthSuffix.length), document, budget).flatMap((value) =>
    Array.isArray(value) || typeof value === 'string' ? [value.length] : [],
  );
}

const lengthSuffix = '.length';

function selected(text: string, document: unknown, budget: WorkBudget): unknown[] {
  const path = pathOf(text);
  const evaluation = new PathEvaluation(document, budget);
  if (!path.hasRegex) return evaluation.select(path.query, document);
  try {
    return budget.timed(() => evaluation.select(path.query, document));
  } catch (thrown) {
    if (thrown instanceof CpuLimitExceeded) {
      throw new WorkExceeded(`the regular expressions of ${text} ${thrown.message}`);
    }
    throw thrown;
  }
}

function pathOf(text: string): Path {
  return paths.getOrMake(text, () => compiledPath(text));
}
