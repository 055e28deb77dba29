import { type Failure, failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { type PreparedRequest, prepareRequest } from '../http/request.ts';
import type { Assertion } from '../judging/assertion.ts';
import { render, TemplateError } from '../judging/templating.ts';
import type { WebSocketSpec, WebSocketStep } from './spec.ts';
import type { PreparedStep } from './steps.ts';

/** A conversation that can be held: templates filled in. */
export interface PreparedConversation {
  readonly request: PreparedRequest;
  readonly steps: readonly PreparedStep[];
}

/** Fills in the templates of a WebSocket monitor, or says what is wrong with the definition. */
export function prepareConversation(
  { request: spec }: WebSocketSpec,
  { variables, proxyUrl, log }: Pick<RunContext, 'variables' | 'proxyUrl' | 'log'>,
): { readonly prepared: PreparedConversation } | { readonly failure: Failure } {
  const asked = {
    ...spec,
    method: 'GET',
    body: '',
    bodyType: 'NONE',
    queryParameters: [],
    followRedirects: false,
  } as const;
  const found = prepareRequest(asked, { variables, proxyUrl, log, schemes: ['ws', 'wss'] });
  if ('failure' in found) return found;
  try {
    const steps = spec.steps.map((step) => filled(step, variables));
    return { prepared: { request: found.request, steps } };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}

function filled(step: WebSocketStep, variables: Readonly<Record<string, string>>): PreparedStep {
  const fill = (text: string) => render(text, variables, 'raw');
  const message = fill(step.message);
  return {
    ...step,
    data: Buffer.from(message, step.isBinary ? 'base64' : 'utf8'),
    assertions: step.assertions.map((one): Assertion => ({ ...one, target: fill(one.target) })),
  };
}
