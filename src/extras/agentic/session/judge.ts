import type { ModelClient } from '@picket/checks/model/client.ts';
import { ModelError } from '@picket/checks/model/message.ts';
import type { Judge } from './actor.ts';
import { judgeSystem, judgeTools, untrusted, Verdict } from './words.ts';

const maxAnswerTokens = 1024;
const minQuoteLength = 3;

/**
 * Has the model judge conditions that only words can express. A yes counts only with a quotation that the page really
 * contains; without evidence the result is no.
 *
 * @param order.look returns the page as the model may see it.
 */
export function judgeWith(order: {
  readonly model: ModelClient | undefined;
  readonly look: () => Promise<string>;
  readonly signal: AbortSignal;
}): Judge {
  return async (question) => {
    const { model, look, signal } = order;
    if (!model) {
      throw new ModelError(
        'MODEL_UNAVAILABLE',
        'A step needs a judgement in words, but this agent has no model.',
      );
    }
    const page = await look();
    const task = `Question: ${question}\n\nThe page:\n${untrusted(page)}`;
    const answer = await model.ask(
      { system: judgeSystem, messages: [{ role: 'user', text: task }], tools: judgeTools, maxAnswerTokens },
      signal,
    );
    const verdict = Verdict.safeParse(answer.calls.find(({ name }) => name === 'verdict')?.input);
    if (!verdict.success) {
      throw new ModelError('MODEL_ANSWER_INVALID', 'The model returned no verdict.');
    }
    const { holds, because, quote } = verdict.data;
    const isShown = quote.trim().length >= minQuoteLength && page.includes(quote.trim());
    if (holds && !isShown)
      return { holds: false, because: `The model quotes text that is not on the page. ${because}` };
    return { holds, because };
  };
}
