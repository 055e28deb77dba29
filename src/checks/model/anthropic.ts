import { z } from 'zod';
import { ReportedTokens } from './counting.ts';
import type { ModelCall, ModelDialect, ModelMessage } from './message.ts';

const Answer = z.object({
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
      input: z.unknown().optional(),
    }),
  ),
  usage: z
    .object({ input_tokens: ReportedTokens, output_tokens: ReportedTokens })
    .catch({ input_tokens: 0, output_tokens: 0 }),
});

/** The Messages API of Anthropic. */
export const anthropic: ModelDialect = {
  request: ({ system, messages, tools, maxAnswerTokens }, { name, apiKey }) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
    body: {
      model: name,
      max_tokens: maxAnswerTokens,
      system,
      messages: messages.map(written),
      tools: tools.map(({ name: tool, description, input }) => ({
        name: tool,
        description,
        input_schema: input,
      })),
    },
  }),
  answer: (body) => {
    const { content, usage } = Answer.parse(body);
    return {
      text: content.flatMap(({ type, text }) => (type === 'text' ? (text ?? []) : [])).join('\n'),
      calls: content.flatMap(({ type, id, name, input }, index): ModelCall[] =>
        type === 'tool_use' ? [{ id: id ?? `call_${index}`, name: name ?? '', input }] : [],
      ),
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
    };
  },
};

function written(message: ModelMessage): unknown {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') {
    const content = message.results.map(({ callId, text }) => ({
      type: 'tool_result',
      tool_use_id: callId,
      content: text,
    }));
    return { role: 'user', content };
  }
  // Anthropic rejects an empty text.
  const text = message.text === '' ? [] : [{ type: 'text', text: message.text }];
  const calls = message.calls.map(({ id, name, input }) => ({
    type: 'tool_use',
    id,
    name,
    input: input ?? {},
  }));
  const content = [...text, ...calls];
  return { role: 'assistant', content: content.length > 0 ? content : [{ type: 'text', text: '-' }] };
}
