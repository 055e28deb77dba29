import { toError } from '../errors.ts';
import { CpuLimitExceeded, ThreadStarved } from './cpu-limit.ts';
import { type WorkBudget, WorkExceeded } from './work-budget.ts';

/** A user's regular expression is invalid. */
export class RegexError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RegexError';
  }
}

/** No user writes longer ones; they take long to compile, and compilation cannot be interrupted. */
const maxPatternLength = 10_000;

/** Returns why a text is not a usable regular expression, or undefined if it is one. */
export function regexProblem(pattern: string): string | undefined {
  try {
    parsed(pattern);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RegexError) return thrown.message;
    throw thrown;
  }
}

/**
 * Returns the first match of a user's regular expression, or null.
 *
 * @throws RegexError, WorkExceeded, ThreadStarved.
 */
export function firstMatch(
  pattern: string,
  text: string,
  budget: WorkBudget,
): readonly (string | undefined)[] | null {
  const regex = parsed(pattern);
  try {
    return budget.timed(() => regex.exec(text));
  } catch (thrown) {
    if (thrown instanceof CpuLimitExceeded) {
      throw new WorkExceeded(`the regular expression ${pattern} ${thrown.message}`);
    }
    if (thrown instanceof ThreadStarved) throw thrown;
    // The engine's own stack can overflow on a long text; the expression is to blame for that too.
    throw new WorkExceeded(`the regular expression ${pattern} cannot be matched: ${toError(thrown).message}`);
  }
}

function parsed(pattern: string): RegExp {
  if (pattern.length > maxPatternLength) {
    throw new RegexError(`Invalid regular expression: it is longer than ${maxPatternLength} characters`);
  }
  try {
    return new RegExp(pattern);
  } catch (thrown) {
    throw new RegexError(toError(thrown).message);
  }
}
