import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems, stepProblems } from '../judging/assertion-problems.ts';
import type { UdpSpec } from './spec.ts';

/** What is wrong with a UDP monitor whose fields are valid by themselves. */
export function udpProblems({ request, shouldFail }: UdpSpec): DefinitionProblem[] {
  const problems = [...assertionProblems(request.assertions), ...stepProblems(request.steps)];
  if (shouldFail && request.steps.length > 0) {
    const message = 'cannot be done with shouldFail: the check passes when nothing comes back';
    problems.push({ path: ['request', 'steps'], message });
  }
  return problems;
}
