import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, unescapeHtml } from './receiver.ts';

/** Twilio's format: a form. */
export const smsProvider = (url: string) =>
  JSON.stringify({
    url: `${url}/2010-04-01/Accounts/AC1/Messages.json`,
    headers: { authorization: 'Basic c2lkOnRva2Vu' },
    form: { To: '{{NUMBER}}', From: '+15550100', Body: '{{TEXT}}' },
    accepted: '"sid"',
  });

export const sms: DocumentedReceiver = {
  config: () => ({ name: 'me', number: '+491701234567' }),
  accepted: { status: 201, body: '{"sid": "SM1"}' },
  check({ path, method, headers, body }) {
    if (`${method} ${path}` !== 'POST /2010-04-01/Accounts/AC1/Messages.json') throw new Error(path);
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') throw new Error('no form');
    if (headers.authorization !== 'Basic c2lkOnRva2Vu') throw new Error('no token');
    const form = z
      .strictObject({
        To: z.literal('+491701234567'),
        From: z.literal('+15550100'),
        Body: z.string().min(1).max(1600),
      })
      .parse(Object.fromEntries(new URLSearchParams(body)));
    if (form.Body.includes('\n')) throw new Error('more than a line');
  },
  shown: ({ body }) => new URLSearchParams(body).get('Body') ?? '',
  errors: [
    {
      status: 200,
      body: '{"message": "The number is on a blocklist"}',
      reason: 'The number is on a blocklist',
      isRetryable: false,
    },
    {
      status: 400,
      body: '{"code": 21211, "message": "The \'To\' number is not valid"}',
      reason: "The 'To' number is not valid",
      isRetryable: false,
    },
  ],
};

/** A provider that accepts JSON with a document for its voice. */
export const callProvider = (url: string) =>
  JSON.stringify({
    url: `${url}/calls?to={{NUMBER}}`,
    json: { to: ['{{NUMBER}}'], twiml: '<Response><Say>{{{TEXT_XML}}}</Say></Response>' },
  });

const Call = z.strictObject({ to: z.tuple([z.literal('+491701234567')]), twiml: z.string() });

export const call: DocumentedReceiver = {
  config: () => ({ name: 'me', number: '+491701234567' }),
  accepted: { status: 200, body: '{}' },
  check(request) {
    if (request.path !== '/calls?to=%2B491701234567') throw new Error(request.path);
    const { twiml } = Call.parse(jsonBody(request));
    if (!/^<Response><Say>[^<>]*<\/Say><\/Response>$/.test(twiml)) throw new Error(`markup in ${twiml}`);
  },
  shown: (request) => unescapeHtml(Call.parse(jsonBody(request)).twiml),
};
