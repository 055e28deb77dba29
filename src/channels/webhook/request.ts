import { createHmac } from 'node:crypto';
import { TemplateError } from '@picket/checks/judging/templating.ts';
import { headerOfText } from '@picket/lib/wire/header-text.ts';
import type { OutboundRequest } from '../contract/channel.ts';
import { fillTemplate, type TextPlace } from '../contract/fill-template.ts';
import type { ChannelMessage } from '../contract/message.ts';
import type { WebhookConfig } from './config.ts';

/** Headers that the service sets itself or that belong to the connection. */
const ownHeaders: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'host',
  'expect',
  'te',
  'trailer',
  'x-service-signature',
  'x-checkly-signature',
  'x-service-timestamp',
]);

/**
 * Builds the request of a webhook (check model 4.4): fills in the templates of URL, query, header values and body, and
 * signs the body with HMAC-SHA256 if there is a secret. `x-service-notification-id` is the same on every attempt.
 *
 * @throws TemplateError
 */
export function webhookRequest(config: WebhookConfig, message: ChannelMessage, now: number): OutboundRequest {
  const { variables } = message;
  const url = withQuery(fillTemplate(config.url, variables, 'url'), config, variables);
  const hasBody = config.method !== 'GET' && config.method !== 'HEAD';
  const body = hasBody ? bodyOf(config, message, variables) : null;
  const isJson = placeOf(config) === 'json';
  const headers = new Map<string, readonly [string, string]>();
  const set = (name: string, value: string) => headers.set(name.toLowerCase(), [name, value]);
  set('user-agent', 'picket');
  if (body !== null) set('content-type', isJson ? 'application/json' : 'text/plain; charset=utf-8');
  for (const { key, value } of config.headers) {
    if (ownHeaders.has(key.toLowerCase())) continue;
    set(key, headerSafe(fillTemplate(value, variables, 'raw')));
  }
  set('x-service-timestamp', String(now));
  set('x-service-notification-id', message.id);
  if (config.webhookSecret) {
    const signature = createHmac('sha256', config.webhookSecret)
      .update(body ?? '')
      .digest('hex');
    set('x-service-signature', signature);
    // Checked by receivers written for the service whose API shape this API follows.
    set('x-checkly-signature', signature);
  }
  return { url, method: config.method, headers: [...headers.values()], body };
}

/** Returns the problems with the templates and headers of a webhook, by field. */
export function templateProblems(config: WebhookConfig): { key: string; message: string }[] {
  const texts: [key: string, text: string, place: TextPlace][] = [
    ['config.url', config.url, 'url'],
    ...(config.template === null
      ? []
      : ([['config.template', config.template, placeOf(config)]] satisfies [string, string, TextPlace][])),
    ...(['headers', 'queryParameters'] as const).flatMap((list) =>
      config[list].map(({ value }, index): [string, string, TextPlace] => [
        `config.${list}.${index}.value`,
        value,
        'raw',
      ]),
    ),
  ];
  const problems = texts.flatMap(([key, text, place]) => {
    try {
      fillTemplate(text, {}, place);
      return [];
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      return [{ key, message: `is not a valid template: ${thrown.message}` }];
    }
  });
  for (const [index, { key }] of config.headers.entries()) {
    if (/^[!#$%&'*+.^_`|~\w-]+$/.test(key)) continue;
    problems.push({ key: `config.headers.${index}.key`, message: 'is not a valid header name' });
  }
  const sendsLocked = [...config.headers, ...config.queryParameters].some(({ locked }) => locked);
  if (sendsLocked && hasOpenOrigin(config.url)) {
    problems.push({
      key: 'config.url',
      message: 'must have no template in scheme, host and port while a header or query parameter is locked',
    });
  }
  if (!/^(https?:\/\/\S|\{\{)/i.test(config.url)) {
    problems.push({ key: 'config.url', message: 'must be an http or https URL, or begin with a template' });
  }
  return problems;
}

/** Whether a template determines the server that receives the request. */
function hasOpenOrigin(url: string): boolean {
  return !/^https?:\/\/[^{\\/?#]+(?:[\\/?#]|$)/i.test(url.trim());
}

function bodyOf(
  config: WebhookConfig,
  message: ChannelMessage,
  variables: ChannelMessage['variables'],
): string {
  if (config.template !== null && config.template !== '') {
    return fillTemplate(config.template, variables, placeOf(config));
  }
  const facts = Object.entries(variables).filter(
    ([name, value]) => value !== null || !name.startsWith('AI_'),
  );
  return JSON.stringify({
    notification_id: message.id,
    ...Object.fromEntries(facts.map(([name, value]) => [name.toLowerCase(), value])),
  });
}

/** A template that looks like JSON is treated as JSON: inserted values are escaped. */
function placeOf({ template }: Pick<WebhookConfig, 'template'>): TextPlace {
  return template === null || /^\s*[[{](?!\{)/.test(template) ? 'json' : 'raw';
}

function withQuery(url: string, config: WebhookConfig, variables: ChannelMessage['variables']): string {
  if (config.queryParameters.length === 0 || !URL.canParse(url)) return url;
  const whole = new URL(url);
  for (const { key, value } of config.queryParameters) {
    whole.searchParams.append(key, fillTemplate(value, variables, 'raw'));
  }
  return whole.href;
}

/** Removes line breaks, which would start another header, and other control characters, which headers cannot carry. */
function headerSafe(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern removes these characters
  return headerOfText(value.replaceAll(/[\0-\x08\x0a-\x1f\x7f]+/g, ' ').trim());
}
