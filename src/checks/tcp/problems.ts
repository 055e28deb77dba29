import { regexProblem } from '../../lib/bounds/bounded-regex.ts';
import type { DefinitionProblem } from '../contract/check-type.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import type { TcpSpec } from './spec.ts';

/** What is wrong with a TCP monitor whose fields are valid by themselves. */
export function tcpProblems({ request, shouldFail }: TcpSpec): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [...assertionProblems(request.assertions)];
  for (const [index, { regex }] of request.steps.entries()) {
    const problem = regex === '' ? undefined : regexProblem(regex);
    const path = ['request', 'steps', index, 'regex'];
    if (problem !== undefined) problems.push({ path, message: `cannot be used: ${problem}` });
  }
  if (shouldFail && request.steps.length > 0) {
    const message = 'cannot be done with shouldFail: the check passes when no connection can be made';
    problems.push({ path: ['request', 'steps'], message });
  }
  return problems;
}
