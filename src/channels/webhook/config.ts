import { z } from 'zod';

const KeyValue = z.object({
  key: z.string().min(1).max(255),
  value: z.string().max(4096),
  locked: z.boolean().default(false).describe('Responses show the value as ""'),
});

export const WebhookConfig = z.object({
  name: z.string().min(1).max(255),
  url: z
    .string()
    .min(1)
    .max(2048)
    .describe('Destination. May contain templates such as {{CHECK_ID}}; their values are percent-encoded'),
  webhookType: z.string().max(64).nullable().default(null).describe('Free text for clients; has no effect'),
  method: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'DELETE']))
    .default('POST')
    .describe('HTTP method; stored in upper case'),
  template: z
    .string()
    .max(20_000)
    .nullable()
    .default(null)
    .describe('Body (Handlebars). Default: a JSON document with all fields'),
  webhookSecret: z
    .string()
    .max(512)
    .nullable()
    .default(null)
    .describe(
      'Secret for the HMAC-SHA256 of the body, sent in the headers x-service-signature and x-checkly-signature',
    ),
  headers: z.array(KeyValue).max(50).default([]).describe('Values may contain templates'),
  queryParameters: z.array(KeyValue).max(50).default([]).describe('Values may contain templates'),
});
export type WebhookConfig = z.output<typeof WebhookConfig>;
