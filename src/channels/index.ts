import type { z } from 'zod';
import { alertmanager } from './alertmanager/channel.ts';
import { call } from './call/channel.ts';
import type { Channel } from './contract/channel.ts';
import { discord } from './discord/channel.ts';
import { email } from './email/channel.ts';
import { googleChat } from './google-chat/channel.ts';
import { incidentIo } from './incident-io/channel.ts';
import { ntfy } from './ntfy/channel.ts';
import { opsgenie } from './opsgenie/channel.ts';
import { pagerDuty } from './pagerduty/channel.ts';
import { slack } from './slack/channel.ts';
import { slackApp } from './slack-app/channel.ts';
import { sms } from './sms/channel.ts';
import { teams } from './teams/channel.ts';
import { telegram } from './telegram/channel.ts';
import { webhook } from './webhook/channel.ts';

/** The registry: one line per type of channel. The API, delivery and the documents are derived from it. */
const registry = [
  email,
  slack,
  slackApp,
  webhook,
  sms,
  pagerDuty,
  opsgenie,
  call,
  teams,
  telegram,
  discord,
  ntfy,
  googleChat,
  incidentIo,
  alertmanager,
] as const;

type Known = (typeof registry)[number];
export type ChannelType = Known['type'];
/** Config of a type of channel, as its schema parses it. */
export type ChannelConfig<T extends ChannelType> = z.output<Extract<Known, { type: T }>['config']>;

export const channelKinds: readonly Channel<ChannelType>[] = registry;
export const channelTypes = registry.map(({ type }) => type);

const byType = new Map<string, Channel<ChannelType>>(channelKinds.map((kind) => [kind.type, kind]));

/** Returns the kind of channel with that type, or undefined if this build does not have it. */
export function findChannelKind(type: string): Channel<ChannelType> | undefined {
  return byType.get(type);
}

/** Returns type and config of the channel for a mail address or the URL of a webhook; undefined for another text. */
export function channelFor(
  typed: string,
): { readonly type: ChannelType; readonly config: Readonly<Record<string, unknown>> } | undefined {
  const found = channelKinds.flatMap((kind) => {
    const config = kind.configFor(typed);
    return config === undefined
      ? []
      : [{ type: kind.type, config, isForAny: kind.sender.kind === 'template' }];
  });
  // Channels with templates of their own take any URL.
  const best = found.find(({ isForAny }) => !isForAny) ?? found[0];
  return best && { type: best.type, config: best.config };
}
