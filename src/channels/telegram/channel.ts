import { html } from '@picket/lib/html.ts';
import { z } from 'zod';
import { defineChannel, type ReadAnswer } from '../contract/channel.ts';
import { channelName } from '../contract/fields.ts';
import type { ChannelMessage } from '../contract/message.ts';
import { jsonOf, sendJson } from '../contract/send-json.ts';
import { boundedFacts, cutWritten } from '../contract/text.ts';

const Refusal = z.object({
  ok: z.literal(false),
  description: z.string().default('no reason given'),
  error_code: z.int().optional(),
  parameters: z
    .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.number().optional() })
    .optional(),
});

/** A message of a Telegram bot (Bot API, `sendMessage`): 4,096 characters of HTML. */
export const telegram = defineChannel({
  type: 'TELEGRAM',
  title: 'Telegram',
  icon: 'paper-airplane',
  config: z.object({
    name: channelName,
    botToken: z
      .string()
      .regex(/^\d{1,20}:[\w-]{1,100}$/, 'must be a token as @BotFather gives it: 123456:ABC…')
      .describe('Token of the bot'),
    chatId: z
      .string()
      .regex(/^(-?\d{1,20}|@\w{1,64})$/, 'must be the id of a chat, or @name of a public channel')
      .describe('Chat. The bot must be a member'),
    messageThreadId: z.int().min(1).nullable().default(null).describe('Forum topic'),
  }),
  hidden: ['botToken'],
  sender: {
    kind: 'http',
    requests: ({ botToken, chatId, messageThreadId }, message, { TELEGRAM_URL }) => [
      sendJson(`${TELEGRAM_URL.replace(/\/+$/, '')}/bot${botToken}/sendMessage`, {
        chat_id: chatId,
        ...(messageThreadId === null ? {} : { message_thread_id: messageThreadId }),
        text: textOf(message),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      }),
    ],
    readAnswer,
  },
  sample: { name: 'Ops', botToken: '123456:ABC-DEF1234ghIkl', chatId: '-1001234567890' },
});

function textOf({ title, facts, link }: ChannelMessage): string {
  const opening = link === null ? '' : `\n\n<a href="${html(link)}">Open the alert</a>`;
  const heading = `<b>${cutWritten(title, 500, html)}</b>\n`;
  const room = 4_096 - heading.length - opening.length;
  const lines = boundedFacts(facts, { valueLength: 1_500, totalLength: room - facts.length * 8 }, html);
  return `${heading}${lines.map(({ label, value }) => `\n<b>${html(label)}</b>: ${value}`).join('')}${opening}`;
}

function readAnswer({ statusCode, text }: Parameters<ReadAnswer>[0]): ReturnType<ReadAnswer> {
  const { data } = Refusal.safeParse(jsonOf(text));
  if (!data) return {};
  const { retry_after: seconds, migrate_to_chat_id: newId } = data.parameters ?? {};
  const code = data.error_code ?? statusCode;
  return {
    error: newId === undefined ? data.description : `${data.description}: its id is ${newId} now`,
    isRetryable: code === 429 || code >= 500,
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  };
}
