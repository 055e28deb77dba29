import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelType, channelTypes } from '../../../../src/channels/index.ts';
import { callProvider, smsProvider } from './phone.ts';
import type { DocumentedReceiver } from './receiver.ts';

/** The receivers of all channels that speak to a service with a shape of its own: a file each, named after the type. */
export const documentedReceivers: Partial<Record<ChannelType, DocumentedReceiver>> = {};

for (const type of channelTypes) {
  const file = join(import.meta.dirname, `${type.toLowerCase().replaceAll('_', '-')}.ts`);
  if (!existsSync(file)) continue;
  const { receiver } = (await import(file)) as { readonly receiver: DocumentedReceiver };
  documentedReceivers[type] = receiver;
}

/** The settings that lead all of them to one server. */
export function receiverSettings(url: string) {
  return {
    PAGERDUTY_URL: url,
    OPSGENIE_URL: url,
    TELEGRAM_URL: url,
    SLACK_URL: url,
    SMS_PROVIDER: smsProvider(url),
    CALL_PROVIDER: callProvider(url),
  };
}
