import {
  EmailAlertChannel,
  IncidentioAlertChannel,
  MSTeamsAlertChannel,
  OpsgenieAlertChannel,
  PagerdutyAlertChannel,
  PhoneCallAlertChannel,
  SlackAlertChannel,
  SlackAppAlertChannel,
  SmsAlertChannel,
  TelegramAlertChannel,
  WebhookAlertChannel,
} from 'checkly/constructs';

/** Notification settings of every channel; none is a default. */
const told = {
  sendRecovery: false,
  sendFailure: false,
  sendDegraded: true,
  sslExpiry: true,
  sslExpiryThreshold: 12,
};

export const mail = new EmailAlertChannel('mail', { ...told, address: 'on-call@shop.example.com' });
export const chat = new SlackAlertChannel('chat', {
  ...told,
  url: 'https://hooks.slack.com/services/T/B/C',
  channel: '#on-call',
});
new SlackAppAlertChannel('chat-app', { ...told, slackChannels: ['#on-call', '@someone'] });
new OpsgenieAlertChannel('opsgenie', {
  ...told,
  name: 'On call',
  apiKey: 'opsgenie-key',
  region: 'EU',
  priority: 'P2',
});
new PagerdutyAlertChannel('pagerduty', {
  ...told,
  account: 'shop',
  serviceName: 'Shop',
  serviceKey: 'pagerduty-key',
});
new SmsAlertChannel('sms', { ...told, name: 'Text', phoneNumber: '+4917612345678' });
new PhoneCallAlertChannel('call', { ...told, name: 'Call', phoneNumber: '+4917612345678' });
new MSTeamsAlertChannel('teams', {
  ...told,
  name: 'Teams',
  url: 'https://teams.example.com/hook',
  payload: '{"text": "{{ALERT_TITLE}}"}',
});
new IncidentioAlertChannel('incidents', {
  ...told,
  name: 'Incidents',
  url: 'https://api.incident.io/v2/alert_events/http/1',
  apiKey: 'incidents-key',
  payload: '{"title": "{{ALERT_TITLE}}"}',
});
new TelegramAlertChannel('telegram', {
  ...told,
  name: 'Telegram',
  chatId: '-100123',
  apiKey: 'telegram-key',
  messageThreadId: '7',
  payload: '{{ALERT_TITLE}}',
});
new WebhookAlertChannel('webhook', {
  ...told,
  name: 'Hook',
  url: 'https://chat.shop.example.com/hook',
  method: 'PUT',
  headers: [{ key: 'x-source', value: 'monitoring' }],
  queryParameters: [{ key: 'room', value: 'on-call' }],
  template: '{"text": "{{ALERT_TITLE}}"}',
  webhookSecret: 'hook-secret',
});
