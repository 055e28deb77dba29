import { findChannelKind } from '@picket/channels/index.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';

/** What tells a channel from the others of its type: the first of these that its config has. */
const names = ['name', 'address', 'serviceName', 'channel', 'number', 'topic', 'chatId', 'slackChannels'];

/** A channel as people call it. */
export function channelName(channel: {
  readonly id: number;
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
}): string {
  const { type, config, id } = channel;
  const title = findChannelKind(type)?.title ?? type;
  const given = names.map((name) => config[name]).find((value) => typeof value === 'string' && value !== '');
  return `${title}: ${String(given ?? hostOf(config['url']) ?? `no. ${id}`)}`;
}

/** What is the matter with a channel, where pages have another way out than the API. */
export function warningWords({ code, message }: Warning): string {
  return code === 'NO_SUBSCRIBER'
    ? 'No check or group is subscribed to this channel, so it gets no notifications. Add subscriptions on its page.'
    : message;
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.host : undefined;
}
