import { findChannelKind } from '@picket/channels/index.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';

/** Config fields that identify a channel among those of its type; the first one present is used. */
const names = ['name', 'address', 'serviceName', 'channel', 'number', 'topic', 'chatId', 'slackChannels'];

/** Returns the display name of a channel. */
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

/** Describes a warning of a channel, with the remedy that pages offer in place of the API's. */
export function warningWords({ code, message }: Warning): string {
  return code === 'NO_SUBSCRIBER'
    ? 'No check or group is subscribed to this channel, so it gets no notifications. Add subscriptions on its page.'
    : message;
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.host : undefined;
}
