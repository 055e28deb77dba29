import { expect, it } from 'vitest';
import { channelFor } from './index.ts';

it.each([
  ['ops@example.com', 'EMAIL'],
  ['https://hooks.slack.com/services/T/B/X', 'SLACK'],
  ['https://discord.com/api/webhooks/1/x', 'DISCORD'],
  ['https://prod-1.westeurope.logic.azure.com/workflows/x', 'MSTEAMS'],
  ['https://chat.googleapis.com/v1/spaces/x/messages?key=k', 'GOOGLE_CHAT'],
  ['https://user@chat.example.com/hook', 'WEBHOOK'],
  ['https://hooks.slack.com.evil.example/', 'WEBHOOK'],
  ['http://127.0.0.1:9000/hook', 'WEBHOOK'],
  ['ops', undefined],
  ['ftp://example.com/', undefined],
])('%s is of the channel %s', (typed, type) => {
  expect(channelFor(typed)?.type).toBe(type);
});
