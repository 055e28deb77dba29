import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { shouldFailProblems } from '../steps/problems.ts';
import type { WebSocketSpec } from './spec.ts';

/** What is about an open connection, which a check with `shouldFail` expects not to get. */
const openSources: ReadonlySet<string> = new Set([
  ...['SUBPROTOCOL', 'JSON_BODY', 'TEXT_BODY', 'MESSAGE_COUNT', 'CLOSE_CODE', 'CLOSE_REASON'],
]);

/** What is wrong with a WebSocket monitor whose fields are valid by themselves. */
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
