import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';
import type { DefinitionProblem } from '../contract/group-defaults.ts';

const path = ['request', 'steps'] as const;

/** Steps whose regular expressions cannot be used. */
export function regexProblems(steps: readonly { readonly regex: string }[]): DefinitionProblem[] {
  return steps.flatMap(({ regex }, index) => {
    const problem = regex === '' ? undefined : regexProblem(regex);
    if (problem === undefined) return [];
    return [{ path: [...path, index, 'regex'], message: `cannot be used: ${problem}` }];
  });
}

/** Steps of a check that passes when nothing can be said. @param passing when it passes. */
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
