import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems, stepProblems } from '../judging/assertion-problems.ts';
import type { TcpSpec } from './spec.ts';

/** What is wrong with a TCP monitor whose fields are valid by themselves. */
export function tcpProblems({ request, shouldFail }: TcpSpec): DefinitionProblem[] {
  const problems = [...assertionProblems(request.assertions), ...stepProblems(request.steps)];
  if (shouldFail && request.steps.length > 0) {
    const message = 'cannot be done with shouldFail: the check passes when no connection can be made';
    problems.push({ path: ['request', 'steps'], message });
  }
  return problems;
}
