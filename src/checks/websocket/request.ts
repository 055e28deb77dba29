import type { Failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { type PreparedRequest, prepareRequest } from '../http/request.ts';
import { filledAssertions } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import type { WebSocketSpec, WebSocketStep } from './spec.ts';
import type { PreparedStep } from './steps.ts';

/**
 * Fills in the templates of a WebSocket monitor, or returns what is wrong with the definition. @throws TemplateError
 */
export function prepareConversation(
  { request: spec }: WebSocketSpec,
  { variables, proxyUrl, log }: Pick<RunContext, 'variables' | 'proxyUrl' | 'log'>,
):
  | { readonly asked: PreparedRequest; readonly steps: readonly PreparedStep[] }
  | { readonly failure: Failure } {
  const asked = {
    ...spec,
    method: 'GET',
    body: '',
    bodyType: 'NONE',
    queryParameters: [],
    followRedirects: false,
    auth: null,
  } as const;
  const found = prepareRequest(asked, { variables, proxyUrl, log, schemes: ['ws', 'wss'] });
  if ('failure' in found) return found;
  return { asked: found.request, steps: spec.steps.map((step) => filled(step, variables)) };
}

function filled(step: WebSocketStep, variables: Readonly<Record<string, string>>): PreparedStep {
  const message = render(step.message, variables, 'raw');
  return {
    ...step,
    data: Buffer.from(message, step.isBinary ? 'base64' : 'utf8'),
    assertions: filledAssertions(step.assertions, variables),
  };
}
