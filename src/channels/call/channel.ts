import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, phoneNumber } from '../contract/fields.ts';
import { providerRequest, readProviderAnswer } from '../contract/phone-provider.ts';

/** A phone call, placed by the provider that the operator configured. */
export const call = defineChannel({
  type: 'CALL',
  title: 'Phone call',
  icon: 'device-mobile',
  config: z.object({ name: channelName, number: phoneNumber }),
  sender: {
    kind: 'http',
    requests: (config, message, { CALL_PROVIDER }) => [providerRequest(CALL_PROVIDER, config, message)],
    readAnswer: (answer, { CALL_PROVIDER }) => readProviderAnswer(CALL_PROVIDER, answer),
  },
  whyUndelivered: ({ CALL_PROVIDER }) =>
    CALL_PROVIDER === undefined
      ? 'The service has no call provider: set CALL_PROVIDER, or use another type of channel.'
      : undefined,
  isRefusedUndelivered: true,
  sample: { name: 'me', number: '+491701234567' },
});
