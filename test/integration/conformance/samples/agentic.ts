import type { Samples } from './samples.ts';

const prompt = 'Log in with {{USER}} and see that the cart is empty.';

/**
 * No run can pass: there is no model, and the runner says so. Runs with a model:
 * test/system/checks/agentic-runs.test.ts.
 */
export const samples: Samples = {
  minimal: { prompt },
  refused: {
    prompt: { prompt: '   ' },
    'agentRuntime.skills.0': { prompt, agentRuntime: { skills: [''] } },
    frequency: { prompt, frequency: 2 },
    locations: { prompt, locations: ['us-east-1', 'us-east-2', 'us-west-1', 'us-west-2'] },
  },
  start: async () => ({
    failing: [
      { name: 'no model', body: { prompt: 'See that it opens.' }, code: 'MODEL_PROVIDER_MISSING' },
      { name: 'a variable that is not defined', body: { prompt }, code: 'TEMPLATE_INVALID' },
    ],
    close: async () => undefined,
  }),
};
