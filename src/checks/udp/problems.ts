import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { regexProblems, shouldFailProblems } from '../steps/problems.ts';
import type { UdpSpec } from './spec.ts';

/** Returns problems with a UDP monitor whose fields are valid individually. */
export function udpProblems(spec: UdpSpec): DefinitionProblem[] {
  const { assertions, steps } = spec.request;
  return [
    ...assertionProblems(assertions),
    ...regexProblems(steps),
    ...shouldFailProblems(spec, 'nothing comes back'),
  ];
}
