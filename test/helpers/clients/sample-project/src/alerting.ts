import { EmailAlertChannel, WebhookAlertChannel } from 'checkly/constructs';

const onCall = new EmailAlertChannel('on-call', {
  address: 'on-call@shop.example.com',
  sendRecovery: true,
  sendFailure: true,
  sendDegraded: false,
  sslExpiry: true,
  sslExpiryThreshold: 14,
});

const chat = new WebhookAlertChannel('chat', {
  name: 'Chat',
  url: 'https://chat.shop.example.com/hook',
  method: 'POST',
  headers: [{ key: 'x-source', value: 'monitoring' }],
  template: '{"text": "{{ALERT_TITLE}}"}',
});

export const channels = [onCall, chat];
