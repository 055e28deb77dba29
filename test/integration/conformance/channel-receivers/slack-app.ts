import { type DocumentedReceiver, jsonBody } from './receiver.ts';
import { checkSlack, SlackAppBody, slackTexts } from './slack.ts';

export const receiver: DocumentedReceiver = {
  config: () => ({ slackChannels: ['#ops'], botToken: 'xoxb-1' }),
  accepted: { status: 200, body: '{"ok": true, "ts": "1.1"}' },
  check(request) {
    if (request.path !== '/api/chat.postMessage') throw new Error(request.path);
    if (request.headers.authorization !== 'Bearer xoxb-1') throw new Error('not_authed');
    checkSlack(SlackAppBody.parse(jsonBody(request)));
  },
  shown: (request) => slackTexts(SlackAppBody.parse(jsonBody(request))),
  errors: [
    {
      status: 200,
      body: '{"ok": false, "error": "channel_not_found"}',
      reason: 'channel_not_found',
      isRetryable: false,
    },
    {
      status: 200,
      body: '{"ok": false, "error": "invalid_auth"}',
      reason: 'invalid_auth',
      isRetryable: false,
    },
    {
      status: 200,
      body: '{"ok": false, "error": "internal_error"}',
      reason: 'internal_error',
      isRetryable: true,
    },
    { status: 429, body: '{"ok": false, "error": "ratelimited"}', reason: 'ratelimited', isRetryable: true },
  ],
};
