import {
  AlertEscalationBuilder,
  CheckGroupV1,
  CheckGroupV2,
  PrivateLocation,
  RetryStrategyBuilder,
  StatusPageService,
} from 'checkly/constructs';
import { chat, mail } from './channels.check.ts';

export const service = new StatusPageService('shop-service', { name: 'Shop' });
export const cellar = new PrivateLocation('cellar', {
  name: 'Cellar',
  slugName: 'cellar',
  icon: 'server',
  proxyUrl: 'http://proxy.example.com:3128',
});
export const escalation = AlertEscalationBuilder.runBasedEscalation(
  3,
  { amount: 2, interval: 10 },
  { enabled: true, percentage: 50 },
);

/** Settings of every monitor; none is a default. */
export const common = {
  description: 'What it is for.',
  activated: false,
  muted: true,
  locations: ['eu-west-1' as const],
  privateLocations: ['office', cellar],
  tags: ['own'],
  alertChannels: [mail, chat],
  alertEscalationPolicy: escalation,
  retryStrategy: RetryStrategyBuilder.exponentialStrategy({
    baseBackoffSeconds: 5,
    maxRetries: 3,
    maxDurationSeconds: 120,
    sameRegion: false,
  }),
  runParallel: true,
  triggerIncident: {
    service,
    severity: 'MAJOR' as const,
    name: 'The shop is down',
    description: 'Nobody can buy.',
    notifySubscribers: true,
  },
};

export const group = new CheckGroupV2('group', {
  name: 'Group',
  activated: false,
  muted: true,
  runtimeId: '2025.04',
  locations: ['us-east-1'],
  privateLocations: ['office', cellar],
  tags: ['of-group'],
  concurrency: 4,
  environmentVariables: [
    { key: 'SHOP_URL', value: 'https://shop.example.com' },
    { key: 'PASSWORD', value: 'group-password', secret: true },
    { key: 'LOCKED', value: 'group-locked', locked: true },
  ],
  alertChannels: [mail],
  localSetupScript: 'process.env.SET_UP = "1";',
  localTearDownScript: 'console.log("over");',
  apiCheckDefaults: {
    url: 'https://shop.example.com',
    headers: [{ key: 'accept', value: 'application/json' }],
    queryParameters: [{ key: 'page', value: '1' }],
    basicAuth: { username: 'shop', password: 'group-basic' },
    assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '', regex: null }],
  },
  alertEscalationPolicy: AlertEscalationBuilder.timeBasedEscalation(10, { amount: 1, interval: 5 }),
  retryStrategy: RetryStrategyBuilder.linearStrategy({ baseBackoffSeconds: 20, maxRetries: 1 }),
  runParallel: true,
});

new CheckGroupV1('older-group', {
  name: 'Older group',
  muted: true,
  locations: ['us-east-1'],
  concurrency: 2,
  alertChannels: [mail],
});
