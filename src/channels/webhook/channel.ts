import { defineChannel } from '../contract/channel.ts';
import { WebhookConfig } from './config.ts';

/** A request that the channel's author defines. */
export const webhook = defineChannel({
  type: 'WEBHOOK',
  title: 'Webhook',
  icon: 'webhook',
  config: WebhookConfig,
  hidden: ['webhookSecret'],
  lockable: ['headers', 'queryParameters'],
  address: 'url',
  sender: { kind: 'template' },
  configFor: (url) => (/^https?:\/\//i.test(url) ? { name: URL.parse(url)?.host ?? '', url } : undefined),
  sample: { name: 'Ops', url: 'https://hooks.example.com/ops' },
});
