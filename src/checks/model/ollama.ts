import { z } from 'zod';
import { ReportedTokens } from './counting.ts';
import type { ModelDialect, ModelMessage } from './message.ts';
import { bearer, jsonOrUndefined } from './openai.ts';

const Answer = z.object({
  message: z.object({
    content: z.string().nullish(),
    tool_calls: z
      .array(z.object({ function: z.object({ name: z.string(), arguments: z.unknown() }) }))
      .nullish(),
  }),
  prompt_eval_count: ReportedTokens,
  eval_count: ReportedTokens,
});

/** The chat API of Ollama. Its tool calls have no ids: results follow in their order. */
export const ollama: ModelDialect = {
  request: ({ system, messages, tools, maxAnswerTokens }, { name, apiKey }) => ({
    path: '/api/chat',
    headers: bearer(apiKey),
    body: {
      model: name,
      stream: false,
      options: { num_predict: maxAnswerTokens },
      messages: [{ role: 'system', content: system }, ...messages.flatMap(written)],
      tools: tools.map(({ name: tool, description, input }) => ({
        type: 'function',
        function: { name: tool, description, parameters: input },
      })),
    },
  }),
  answer: (body) => {
    const { message, prompt_eval_count: inputTokens, eval_count: outputTokens } = Answer.parse(body);
    return {
      text: message.content ?? '',
      calls: (message.tool_calls ?? []).map(({ function: { name, arguments: given } }, index) => ({
        id: `call_${index}`,
        name,
        input: typeof given === 'string' ? jsonOrUndefined(given) : given,
      })),
      inputTokens,
      outputTokens,
    };
  },
};

function written(message: ModelMessage): unknown[] {
  if (message.role === 'user') return [{ role: 'user', content: message.text }];
  if (message.role === 'tool') {
    return message.results.map(({ name, text }) => ({ role: 'tool', tool_name: name, content: text }));
  }
  const calls = message.calls.map(({ name, input }) => ({ function: { name, arguments: input ?? {} } }));
  return [{ role: 'assistant', content: message.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}
