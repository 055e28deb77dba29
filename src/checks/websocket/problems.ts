import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { shouldFailProblems } from '../steps/problems.ts';
import type { WebSocketSpec } from './spec.ts';

/** Sources that need an open connection, which a check with `shouldFail` does not expect. */
const openSources: ReadonlySet<string> = new Set([
  ...['SUBPROTOCOL', 'JSON_BODY', 'TEXT_BODY', 'MESSAGE_COUNT', 'CLOSE_CODE', 'CLOSE_REASON'],
]);

/** Returns problems with a WebSocket monitor whose fields are valid individually. */
export function webSocketProblems({ request, shouldFail }: WebSocketSpec): DefinitionProblem[] {
  const { steps, assertions } = request;
  const problems: DefinitionProblem[] = [
    ...assertionProblems(assertions),
    ...steps.flatMap((step, index) =>
      assertionProblems(step.assertions, ['request', 'steps', String(index), 'assertions']),
    ),
  ];
  problems.push(...shouldFailProblems({ request, shouldFail }, 'the server refuses the handshake'));
  if (!shouldFail) return problems;
  for (const [index, { source }] of assertions.entries()) {
    if (!openSources.has(source)) continue;
    const message = 'cannot hold with shouldFail: there is no conversation';
    problems.push({ path: ['request', 'assertions', index, 'source'], message });
  }
  return problems;
}
