import { z } from 'zod';

const KeyValue = z.object({
  key: z.string().min(1).max(255),
  value: z.string().max(4096),
  locked: z.boolean().default(false).describe('Answers show the value as ""'),
});

export const WebhookConfig = z.object({
  name: z.string().min(1).max(255),
  url: z
    .string()
    .min(1)
    .max(2048)
    .describe('Where it is sent; may hold templates such as {{CHECK_ID}}, whose values are percent-encoded'),
  webhookType: z.string().max(64).nullable().default(null).describe('Free text for clients; of no effect'),
  method: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'DELETE']))
    .default('POST')
    .describe('In any case; shown in upper case'),
  template: z
    .string()
    .max(20_000)
    .nullable()
    .default(null)
    .describe('Body (Handlebars); without it a JSON document with everything there is'),
  webhookSecret: z
    .string()
    .max(512)
    .nullable()
    .default(null)
    .describe(
      'Key of the HMAC-SHA256 of the body in the headers x-service-signature and x-checkly-signature',
    ),
  headers: z.array(KeyValue).max(50).default([]).describe('Values may hold templates'),
  queryParameters: z.array(KeyValue).max(50).default([]).describe('Values may hold templates'),
});
export type WebhookConfig = z.output<typeof WebhookConfig>;
