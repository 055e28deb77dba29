import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import type { MaskedValue } from '../contract/masking.ts';
import { isServerNameUsed, RequestUrl, ServerName, TraceparentHosts } from '../contract/target.ts';
import { AuthField } from '../http/auth/auth.ts';
import { httpAssertionSchema } from '../http/connection-assertion.ts';
import { numericComparisons } from '../judging/assertion.ts';

/** A URL monitor: one GET, its status and its time (spec.md "URL monitor additions", check model 1.3). */
export const UrlSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        method: z.literal('GET').default('GET'),
        url: RequestUrl,
        followRedirects: z.boolean().default(true),
        skipSSL: z.boolean().default(false),
        serverName: ServerName,
        ipFamily: IpFamilyField,
        addresses: AddressesField,
        traceparentHosts: TraceparentHosts,
        assertions: z.array(httpAssertionSchema(['STATUS_CODE'], numericComparisons)).default([]),
        auth: AuthField,
      })
      .refine(isServerNameUsed, { path: ['serverName'], error: 'needs an https URL' }),
    degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 30_000 }),
  }),
);
export type UrlSpec = z.output<typeof UrlSpec.schema>;

/** Values of a URL monitor that API responses never show. */
export const maskedInUrl: readonly MaskedValue[] = [
  { path: ['request', 'auth', 'password'], sentTo: [['request', 'url']] },
];
