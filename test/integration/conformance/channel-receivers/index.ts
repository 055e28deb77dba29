import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelType, channelTypes } from '../../../../src/channels/index.ts';
import { callProvider, smsProvider } from './phone.ts';
import type { DocumentedReceiver } from './receiver.ts';

/** The receivers of all channels with a service-specific format: one file each, named after the type. */
export const documentedReceivers: Partial<Record<ChannelType, DocumentedReceiver>> = {};

const shared = ['index.ts', 'phone.ts', 'receiver.ts'];
const typeOf = new Map(channelTypes.map((type) => [`${type.toLowerCase().replaceAll('_', '-')}.ts`, type]));
for (const file of readdirSync(import.meta.dirname).filter((name) => !shared.includes(name))) {
  const type = typeOf.get(file);
  if (type === undefined) throw new Error(`${file} has the name of no channel type`);
  const { receiver } = (await import(join(import.meta.dirname, file))) as {
    readonly receiver: DocumentedReceiver;
  };
  documentedReceivers[type] = receiver;
}

/** Settings that direct all of them to one server. */
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
