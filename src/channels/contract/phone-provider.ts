import { utcText } from '@picket/lib/figures/time.ts';
import { z } from 'zod';
import type { AnswerReading, OutboundRequest } from './channel.ts';
import { fillTemplate } from './fill-template.ts';
import type { ChannelMessage } from './message.ts';
import { jsonOf } from './send-json.ts';
import { cut, oneLine } from './text.ts';

/**
 * Request to a provider of text messages or calls, as the operator configures it. `url`, `form` and `json` are
 * templates.
 */
const Provider = z
  .strictObject({
    url: z.string().regex(/^https?:\/\/\S+$/i),
    method: z.enum(['POST', 'PUT', 'GET']).default('POST'),
    headers: z.record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[\t\x20-\x7e]*$/)).default({}),
    form: z.record(z.string(), z.string()).optional(),
    json: z.json().optional(),
    /** A regular expression that matches the response to an accepted message, for providers that send 200 for all. */
    accepted: z
      .string()
      .refine((pattern) => isPattern(pattern), 'is not a regular expression')
      .optional(),
  })
  .refine(({ form, json }) => form === undefined || json === undefined, 'form or json, not both');
type Provider = z.output<typeof Provider>;

/** Returns the problem with a setting that names a provider, or undefined. */
export function providerProblem(setting: string): string | undefined {
  const { error } = Provider.safeParse(jsonOf(setting));
  if (!error) return undefined;
  const issues = error.issues.map(({ path, message }) => [...path, message].join(': '));
  return `must be JSON such as {"url": "https://…", "form": {"To": "{{NUMBER}}", "Body": "{{TEXT}}"}}: ${issues.join('; ')}`;
}

/** Builds the request that makes a provider notify a number of an alert. */
export function providerRequest(
  setting: string | undefined,
  { name, number }: { readonly name: string; readonly number: string },
  message: ChannelMessage,
): OutboundRequest {
  const provider = Provider.parse(jsonOf(setting ?? ''));
  const text = textOf(message);
  const variables = { ...message.variables, NUMBER: number, NAME: name, TEXT: text, TEXT_XML: xml(text) };
  const fill = (template: string) => fillTemplate(template, variables, 'raw');
  const [contentType, body] = bodyOf(provider, fill);
  return {
    url: fillTemplate(provider.url, variables, 'url'),
    method: provider.method,
    headers: [
      ...(contentType === null ? [] : [['content-type', contentType] as const]),
      ['user-agent', 'picket'],
      ...Object.entries(provider.headers),
    ],
    body,
  };
}

/** Reads a provider's reason for rejecting a message. */
export function readProviderAnswer(
  setting: string | undefined,
  { statusCode, text }: { readonly statusCode: number; readonly text: string },
): AnswerReading {
  const { accepted } = Provider.parse(jsonOf(setting ?? ''));
  const said = z.object({ message: z.string() }).safeParse(jsonOf(text)).data?.message;
  const isRefused = statusCode < 300 && accepted !== undefined && !new RegExp(accepted).test(text);
  if (!isRefused) return { reason: said };
  return { error: said ?? oneLine(cut(text, 200)), isRetryable: false };
}

function bodyOf(
  { form, json }: Provider,
  fill: (template: string) => string,
): [contentType: string | null, body: string | null] {
  if (form) {
    const fields = Object.entries(form).map(([key, value]): [string, string] => [key, fill(value)]);
    return ['application/x-www-form-urlencoded', new URLSearchParams(fields).toString()];
  }
  if (json === undefined) return [null, null];
  const filled = JSON.stringify(json, (_key, value) => (typeof value === 'string' ? fill(value) : value));
  return ['application/json; charset=utf-8', filled];
}

/** Three text messages at most; the beginning contains the essentials. */
const maxTextLength = 450;

function textOf({ title, cause, owner, locations, since, isOver, link }: ChannelMessage): string {
  const at = locations.length === 0 ? '' : ` at ${cut(locations.join(', '), 60)}`;
  const time = utcText(since);
  const details = isOver ? '' : ` ${cut(cause, 160)} (${owner}). Since ${time}${at}.`;
  return cut(`${cut(title, 120)}.${details}${link === null ? '' : ` ${link}`}`, maxTextLength);
}

function xml(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    // The error's message repeats the pattern, which the operator has just entered.
    return false;
  }
}
