import { z } from 'zod';
import { ReportedTokens } from './counting.ts';
import type { ModelDialect, ModelMessage } from './message.ts';

const Answer = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({
                id: z.string().nullish(),
                function: z.object({ name: z.string(), arguments: z.union([z.string(), z.unknown()]) }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z
    .object({ prompt_tokens: ReportedTokens, completion_tokens: ReportedTokens })
    .catch({ prompt_tokens: 0, completion_tokens: 0 }),
});

/** The chat completions API of OpenAI, which nearly every model server supports. */
export const openai: ModelDialect = {
  request: ({ system, messages, tools, maxAnswerTokens }, { name, apiKey }) => ({
    path: '/chat/completions',
    headers: bearer(apiKey),
    body: {
      model: name,
      max_completion_tokens: maxAnswerTokens,
      messages: [{ role: 'system', content: system }, ...messages.flatMap(written)],
      tools: tools.map(({ name: tool, description, input }) => ({
        type: 'function',
        function: { name: tool, description, parameters: input },
      })),
    },
  }),
  answer: (body) => {
    const { choices, usage } = Answer.parse(body);
    const message = choices[0]?.message;
    return {
      text: message?.content ?? '',
      calls: (message?.tool_calls ?? []).map(({ id, function: called }, index) => ({
        id: id ?? `call_${index}`,
        name: called.name,
        input: typeof called.arguments === 'string' ? jsonOrUndefined(called.arguments) : called.arguments,
      })),
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
    };
  },
};

export function bearer(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Parses JSON; undefined for invalid JSON, which a model may return. */
export function jsonOrUndefined(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function written(message: ModelMessage): unknown[] {
  if (message.role === 'user') return [{ role: 'user', content: message.text }];
  if (message.role === 'tool') {
    return message.results.map(({ callId, text }) => ({ role: 'tool', tool_call_id: callId, content: text }));
  }
  const calls = message.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }));
  return [{ role: 'assistant', content: message.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}
