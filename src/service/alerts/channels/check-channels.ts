import { maskDefinition } from '../../../checks/contract/masking.ts';
import {
  type ChannelConfig,
  type ChannelType,
  maskedInChannels,
} from '../../../protocol/alerts/alert-channel.ts';
import type { AlertChannel } from './store.ts';

/** A channel that a check is subscribed to. */
export interface CheckChannel {
  readonly channel: AlertChannel;
  readonly activated: boolean;
}

/** What a check shows of the channels it is subscribed to (spec.md, `alertChannelSubscriptions` and `alertChannels`). */
export function channelsView(subscribed: readonly CheckChannel[]) {
  const configs = <T extends ChannelType>(type: T) =>
    subscribed
      .filter(({ channel }) => channel.type === type)
      .map(({ channel }) => {
        const shown = maskDefinition(maskedInChannels, channel.definition);
        return (shown as { config: ChannelConfig<T> }).config;
      });
  return {
    alertChannelSubscriptions: subscribed.map(({ channel, activated }) => ({
      alertChannelId: channel.id,
      activated,
    })),
    alertChannels: {
      email: configs('EMAIL').map(({ address }) => ({ address })),
      webhook: configs('WEBHOOK').map(({ url, name, method, headers, queryParameters }) => ({
        url,
        name,
        method,
        headers,
        queryParameters,
      })),
      slack: configs('SLACK').map(({ url }) => ({ url })),
      sms: configs('SMS').map(({ number, name }) => ({ number, name })),
    },
  };
}
