import { modelMissing } from '@picket/checks/model/access.ts';
import { ModelClient } from '@picket/checks/model/client.ts';
import { isAboutModel } from '@picket/checks/model/foreign-texts.ts';
import { ModelError, type ModelQuestion } from '@picket/checks/model/message.ts';
import { DaySpending, RunSpending } from '@picket/checks/model/spending.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { systemResolver } from '@picket/probes/resolver.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';
import { chosenTypes } from './offered-types.ts';

/** Leaves room for reasoning models. */
const maxAnswerTokens = 1024;
const question: ModelQuestion = {
  system: 'This is a connection test. Call the tool answer once.',
  messages: [{ role: 'user', text: 'Call the tool answer with the text "ok".' }],
  tools: [
    {
      name: 'answer',
      description: 'Takes your answer',
      input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    },
  ],
  maxAnswerTokens,
};

/** Whether the model of agentic checks responds; sends it one request. */
export const model: Examination = {
  name: 'model',
  async examine({ settings, signal }) {
    const { model: access } = settings;
    if (!chosenTypes(settings).some(({ needsModel }) => needsModel)) {
      return skipped('CHECK_TYPES names no checks that need one');
    }
    if (!access) return skipped(modelMissing);
    const spending = new RunSpending(access, new DaySpending(Date.now));
    const egress = createEgressPolicy({ ...settings.egress, ownPorts: [] });
    const client = new ModelClient(access, { spending, egress, resolver: systemResolver });
    const hidden = (text: string) => (access.apiKey ? text.replaceAll(access.apiKey, '…') : text);
    try {
      const { calls } = await client.ask(question, signal);
      const { inputTokens, outputTokens, waitedMs } = spending.spent;
      const took = `${inputTokens + outputTokens} tokens, ${Math.round(waitedMs)} ms`;
      if (calls.some(({ name }) => name === 'answer'))
        return ok(`${access.name} responds and calls tools (${took})`);
      return warning(
        `${access.name} answers (${took}), but calls no tool on request`,
        'Choose a model that calls tools well: agentic checks consist of such calls.',
      );
    } catch (thrown) {
      if (!(thrown instanceof ModelError)) throw thrown;
      return refusalOf(thrown, hidden(thrown.message), access.name);
    } finally {
      await client.close();
    }
  },
};

function refusalOf({ status, refusal = '' }: ModelError, message: string, name: string): Verdict {
  if (status === 401 || status === 403) {
    return problem(
      message,
      'Set MODEL_API_KEY to a key that the provider accepts for this model.',
      'MODEL_API_KEY',
    );
  }
  if (status === 404 || (status === 400 && isAboutModel(refusal))) {
    return problem(
      message,
      `Check whether the provider has a model named ${name} (MODEL_NAME), and whether MODEL_URL is its address up to the path of the protocol, such as https://api.openai.com/v1.`,
      'MODEL_NAME',
    );
  }
  if (status === 429) {
    return warning(message, 'Wait, or raise the limit or the credit at the provider.', 'MODEL_URL');
  }
  if (status !== undefined)
    return problem(message, 'Read the response of the provider; its log may contain more.', 'MODEL_URL');
  return problem(
    message,
    'Check whether MODEL_URL is reachable from this host: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, EGRESS_DENY, and CA_CERTS_DIR for its certificate apply.',
    'MODEL_URL',
  );
}
