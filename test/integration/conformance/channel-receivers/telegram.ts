import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, requireOnlyTags, unescapeHtml } from './receiver.ts';

const Body = z.strictObject({
  chat_id: z.string(),
  message_thread_id: z.int().optional(),
  text: z.string().min(1).max(4096),
  parse_mode: z.literal('HTML'),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }),
});

const refusal = (code: number, description: string, parameters = {}) =>
  JSON.stringify({ ok: false, error_code: code, description, parameters });

export const receiver: DocumentedReceiver = {
  config: () => ({ botToken: '123456:ABC-DEF', chatId: '-1001', messageThreadId: 7 }),
  accepted: { status: 200, body: '{"ok": true, "result": {"message_id": 1}}' },
  check(request) {
    if (request.path !== '/bot123456:ABC-DEF/sendMessage') throw new Error(request.path);
    const { text, chat_id: chatId, message_thread_id: topic } = Body.parse(jsonBody(request));
    if (chatId !== '-1001' || topic !== 7) throw new Error(`${chatId} ${topic}`);
    requireOnlyTags(text, /<\/?b>|<a href="[^"<>]*">|<\/a>/g);
  },
  shown: (request) => unescapeHtml(Body.parse(jsonBody(request)).text.replaceAll(/<[^>]*>/g, '')),
  errors: [
    {
      status: 200,
      body: refusal(400, 'Bad Request: chat not found'),
      reason: 'Bad Request: chat not found',
      isRetryable: false,
    },
    {
      status: 400,
      body: refusal(400, 'Bad Request: group chat was upgraded', { migrate_to_chat_id: -1002 }),
      reason: 'its id is -1002 now',
      isRetryable: false,
    },
    { status: 401, body: refusal(401, 'Unauthorized'), reason: 'Unauthorized', isRetryable: false },
    {
      status: 429,
      body: refusal(429, 'Too Many Requests: retry after 35', { retry_after: 35 }),
      reason: 'retry after 35',
      isRetryable: true,
    },
  ],
};
