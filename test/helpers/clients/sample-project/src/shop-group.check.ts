import { AlertEscalationBuilder, CheckGroupV2, RetryStrategyBuilder } from 'checkly/constructs';
import { channels } from './alerting.ts';

export const shop = new CheckGroupV2('shop-group', {
  name: 'Shop',
  activated: true,
  muted: false,
  tags: ['group'],
  privateLocations: ['office'],
  environmentVariables: [{ key: 'SHOP_URL', value: 'https://shop.example.com' }],
  alertChannels: channels,
  alertEscalationPolicy: AlertEscalationBuilder.runBasedEscalation(2),
  retryStrategy: RetryStrategyBuilder.fixedStrategy({ baseBackoffSeconds: 10, maxRetries: 2 }),
});
