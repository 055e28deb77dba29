import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { regexProblems, shouldFailProblems } from '../steps/problems.ts';
import type { TcpSpec } from './spec.ts';

/** Returns problems with a TCP monitor whose fields are valid individually. */
export function tcpProblems(spec: TcpSpec): DefinitionProblem[] {
  const { assertions, steps } = spec.request;
  return [
    ...assertionProblems(assertions),
    ...regexProblems(steps),
    ...shouldFailProblems(spec, 'no connection can be made'),
  ];
}
