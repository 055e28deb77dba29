import { type Context, createContext, Script } from 'node:vm';
import { errorCodeOf, toError } from './errors.ts';

/** A regular expression of a user that is not valid or took too long. */
export class RegexError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RegexError';
  }
}

let script: Script | undefined;
let context: Context | undefined;

/**
 * The first match of a user's regular expression, or null. The time is bounded: an expression that backtracks
 * without end is stopped after `timeoutMs`, during which this thread does nothing else. `vm` serves as a
 * stop-watch here, not as a sandbox: nothing but the expression runs in it.
 *
 * @throws RegexError
 */
export function firstMatch(
  pattern: string,
  text: string,
  timeoutMs: number,
): readonly (string | undefined)[] | null {
  let regex: RegExp;
  try {
    regex = new RegExp(pattern);
  } catch (thrown) {
    throw new RegexError(toError(thrown).message);
  }
  script ??= new Script('regex.exec(text)');
  context ??= createContext({});
  try {
    context.regex = regex;
    context.text = text;
    return script.runInContext(context, { timeout: timeoutMs });
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
      throw new RegexError(`the regular expression ${pattern} took longer than ${timeoutMs} ms`);
    }
    // The engine's own stack can overflow on a long text; that is the expression's fault too.
    throw new RegexError(`the regular expression ${pattern} cannot be matched: ${toError(thrown).message}`);
  } finally {
    context.text = '';
  }
}
