import type { Samples } from './samples.ts';

const prompt = 'Log in with {{USER}} and see that the cart is empty.';

/** No run can pass: there is no model provider, and the runner says so. */
export const samples: Samples = {
  minimal: { prompt },
  refused: {
    prompt: { prompt: '   ' },
    'agentRuntime.skills.0': { prompt, agentRuntime: { skills: [''] } },
    frequency: { prompt, frequency: 2 },
    locations: { prompt, locations: ['us-east-1', 'us-east-2', 'us-west-1', 'us-west-2'] },
  },
  start: async () => ({
    failing: [{ name: 'no provider', body: { prompt }, code: 'MODEL_PROVIDER_MISSING' }],
    close: async () => undefined,
  }),
};
