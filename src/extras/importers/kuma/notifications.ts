import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Collection } from '../collection.ts';
import { type Loss, Source } from '../source.ts';

/** Adds a notification as a channel. @returns its name, or undefined if the type has no counterpart. */
export function addNotification(
  row: Fields,
  index: number,
  collection: Collection,
  more: Fields,
): string | undefined {
  const losses: Loss[] = collection.losses;
  const source = new Source(row, `notification.${index}`, losses);
  const name = source.text('name') ?? 'unnamed';
  source.skip('id', 'user_id');
  const isActive = source.flag('active') ?? true;
  const isDefault = source.flag('is_default') ?? false;
  const config = new Source(parsed(source.take('config')), `notification.${index}.config`, losses);
  config.skip('name', 'is_default', 'isDefault', 'applyExisting', 'id', 'userId');
  const type = config.text('type') ?? '';
  const channel = channels[type]?.(config, name, (key, value) => collection.secret(`${name}_${key}`, value));
  if (!channel || !isActive) {
    source.lose('', channel ? 'it is disabled' : `there is no channel of type "${type}"`);
    return undefined;
  }
  config.finish();
  source.finish();
  return collection.add('alert-channels', name, {
    ...channel,
    ...(isDefault ? { autoSubscribe: true } : {}),
    ...more,
  });
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

type Secret = (key: string, value: string) => unknown;

/** Notification types with a counterpart. */
const channels = dictionary<(config: Source, name: string, secret: Secret) => Fields>({
  smtp: (config) => {
    const [first = '', ...others] = (config.text('smtpTo') ?? '').split(',').map((one) => one.trim());
    if (others.length > 0)
      config.note('smtpTo', `a channel has one address: ${others.join(', ')} need one each`);
    for (const key of config.keys) {
      if (!config.isSeen(key) && /^smtp/.test(key) && config.peek(key)) {
        config.lose(key, 'mails are sent by the service (SMTP_URL, MAIL_FROM), with its own text');
      }
    }
    return { type: 'EMAIL', config: { address: first } };
  },
  slack: (config, _name, secret) => ({
    type: 'SLACK',
    config: {
      url: secret('url', config.text('slackwebhookURL') ?? ''),
      channel: config.text('slackchannel') ?? null,
    },
  }),
  mattermost: (config, _name, secret) => ({
    type: 'SLACK',
    config: {
      url: secret('url', config.text('mattermostWebhookUrl') ?? ''),
      channel: config.text('mattermostchannel') ?? null,
    },
  }),
  discord: (config, name, secret) => ({
    type: 'DISCORD',
    config: { name, url: secret('url', config.text('discordWebhookUrl') ?? '') },
  }),
  teams: (config, name, secret) => ({
    type: 'MSTEAMS',
    config: { name, url: secret('url', config.text('webhookUrl') ?? '') },
  }),
  GoogleChat: (config, name, secret) => ({
    type: 'GOOGLE_CHAT',
    config: { name, url: secret('url', config.text('googleChatWebhookURL') ?? '') },
  }),
  telegram: (config, name, secret) => {
    const topic = config.number('telegramMessageThreadID');
    return {
      type: 'TELEGRAM',
      config: {
        name,
        botToken: secret('token', config.text('telegramBotToken') ?? ''),
        chatId: config.text('telegramChatID') ?? '',
        ...(topic === undefined ? {} : { messageThreadId: topic }),
      },
    };
  },
  ntfy: (config, name, secret) => {
    const token = config.text('ntfyaccesstoken');
    return {
      type: 'NTFY',
      config: {
        name,
        url: config.text('ntfyserverurl') ?? 'https://ntfy.sh',
        topic: config.text('ntfytopic') ?? '',
        ...(token === undefined ? {} : { token: secret('token', token) }),
      },
    };
  },
  PagerDuty: (config, name, secret) => ({
    type: 'PAGERDUTY',
    config: { serviceName: name, serviceKey: secret('key', config.text('pagerdutyIntegrationKey') ?? '') },
  }),
  Opsgenie: (config, name, secret) => ({
    type: 'OPSGENIE',
    config: {
      name,
      apiKey: secret('key', config.text('opsgenieApiKey') ?? ''),
      region: config.text('opsgenieRegion') === 'eu' ? 'EU' : 'US',
      priority: `P${config.number('opsgeniePriority') ?? 3}`,
    },
  }),
  webhook: (config, name, secret) => {
    config.expect('webhookContentType', ['json'], 'the body is JSON with all fields');
    const headers = config.text('webhookAdditionalHeaders');
    if (headers !== undefined) config.note('webhookAdditionalHeaders', 'add headers of webhooks by hand');
    return { type: 'WEBHOOK', config: { name, url: secret('url', config.text('webhookURL') ?? '') } };
  },
});
