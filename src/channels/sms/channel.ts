import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, phoneNumber } from '../contract/fields.ts';
import { providerRequest, readProviderAnswer } from '../contract/phone-provider.ts';

/** A text message, sent by the provider that the operator configured. */
export const sms = defineChannel({
  type: 'SMS',
  title: 'Text message',
  icon: 'device-mobile',
  config: z.object({ name: channelName, number: phoneNumber }),
  sender: {
    kind: 'http',
    requests: (config, message, { SMS_PROVIDER }) => [providerRequest(SMS_PROVIDER, config, message)],
    readAnswer: (answer, { SMS_PROVIDER }) => readProviderAnswer(SMS_PROVIDER, answer),
  },
  whyUndelivered: ({ SMS_PROVIDER }) =>
    SMS_PROVIDER === undefined
      ? 'The service has no SMS provider: set SMS_PROVIDER, or use another type of channel.'
      : undefined,
  isRefusedUndelivered: true,
  sample: { name: 'me', number: '+491701234567' },
});
