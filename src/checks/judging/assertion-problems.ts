import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';
import { jsonPathProblem } from '@picket/lib/json/json-path.ts';
import type { DefinitionProblem } from '../contract/group-defaults.ts';
import type { Assertion } from './assertion.ts';

const jsonSources: ReadonlySet<string> = new Set(['JSON_BODY', 'JSON_ANSWER', 'JSON_RESPONSE']);
/** Sources whose `property` is a regular expression. */
const textSources: ReadonlySet<string> = new Set([
  'TEXT_BODY',
  'RESPONSE_DATA',
  'TEXT_ANSWER',
  'TEXT_RESPONSE',
]);

/** Returns the problems with JSON paths and regular expressions of assertions that can never be evaluated. */
export function assertionProblems(
  assertions: readonly Assertion[],
  path: readonly string[] = ['request', 'assertions'],
): DefinitionProblem[] {
  return assertions.flatMap(({ source, property, regex }, index) => {
    const isText = textSources.has(source);
    // Same order as in the evaluation: for texts, `property` takes precedence over `regex`.
    const isRegexUsed = source === 'HEADERS' ? property !== '' : isText && property === '';
    const found = [
      ['property', jsonSources.has(source) && property !== '' ? jsonPathProblem(property) : undefined],
      ['property', isText && property !== '' ? regexProblem(property) : undefined],
      ['regex', isRegexUsed && regex ? regexProblem(regex) : undefined],
    ] as const;
    return found.flatMap(([field, problem]) =>
      problem === undefined ? [] : [{ path: [...path, index, field], message: `cannot be used: ${problem}` }],
    );
  });
}
