import type { Outcome, RunContext } from '../contract/check-type.ts';
import { failure } from '../contract/failure.ts';
import type { AgenticDetail } from './detail.ts';
import type { AgenticSpec } from './spec.ts';

/**
 * Runs an agentic check. A prompt needs a model to follow it, and no model provider can be configured on an
 * agent of this build: the run says so, as a shortcoming of ours and never of the target.
 */
export async function runAgentic(spec: AgenticSpec, context: RunContext): Promise<Outcome<AgenticDetail>> {
  const failed = context.signal.aborted
    ? failure('RUN_ABORTED', 'The run was stopped before it began.')
    : failure(
        'MODEL_PROVIDER_MISSING',
        'No model provider is configured, so the prompt of this check cannot be followed.',
      );
  context.log.write('ERROR', failed.message);
  return {
    failure: failed,
    responseTimeMs: 0,
    isDegraded: null,
    overMaxResponseTime: null,
    errorMessages: [failed.message],
    detail: {
      summary: null,
      prompt: spec.prompt,
      assertions: [],
      suggestions: [],
      steps: [],
      errors: [{ error: { message: failed.message } }],
      artifactManifest: {},
    },
  };
}
