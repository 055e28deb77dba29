import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';
import type { DefinitionProblem } from '../contract/group-defaults.ts';

const path = ['request', 'steps'] as const;

/** Returns the steps with invalid regular expressions. */
export function regexProblems(steps: readonly { readonly regex: string }[]): DefinitionProblem[] {
  return steps.flatMap(({ regex }, index) => {
    const problem = regex === '' ? undefined : regexProblem(regex);
    if (problem === undefined) return [];
    return [{ path: [...path, index, 'regex'], message: `cannot be used: ${problem}` }];
  });
}

/**
 * Refuses steps in a check with `shouldFail`, which passes without an exchange. @param passing when the check passes.
 */
export function shouldFailProblems(
  {
    shouldFail,
    request,
  }: { readonly shouldFail: boolean; readonly request: { readonly steps: readonly unknown[] } },
  passing: string,
): DefinitionProblem[] {
  if (!shouldFail || request.steps.length === 0) return [];
  return [{ path: [...path], message: `cannot be done with shouldFail: the check passes when ${passing}` }];
}
