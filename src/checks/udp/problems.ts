import { regexProblem } from '../../lib/bounds/bounded-regex.ts';
import type { DefinitionProblem } from '../contract/check-type.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import type { UdpSpec } from './spec.ts';

/** What is wrong with a UDP monitor whose fields are valid by themselves. */
export function udpProblems({ request, shouldFail }: UdpSpec): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [...assertionProblems(request.assertions)];
  for (const [index, { regex }] of request.steps.entries()) {
    const problem = regex === '' ? undefined : regexProblem(regex);
    const path = ['request', 'steps', index, 'regex'];
    if (problem !== undefined) problems.push({ path, message: `cannot be used: ${problem}` });
  }
  if (shouldFail && request.steps.length > 0) {
    const message = 'cannot be done with shouldFail: the check passes when nothing comes back';
    problems.push({ path: ['request', 'steps'], message });
  }
  return problems;
}
