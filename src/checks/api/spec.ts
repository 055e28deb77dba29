import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import type { MaskedValue } from '../contract/masking.ts';
import { isServerNameUsed, RequestUrl, ServerName, TraceparentHosts } from '../contract/target.ts';
import { AuthField, authNotUnique, isAuthUnique } from '../http/auth/auth.ts';
import { httpAssertionSchema } from '../http/connection-assertion.ts';
import { comparisons } from '../judging/assertion.ts';

const KeyValue = lazySchema(() =>
  z.object({
    key: z.string().min(1),
    value: z.string().default(''),
    locked: z.boolean().default(false),
  }),
);

/** An API check: one configurable HTTP request and assertions on its response (check model 1.2). */
export const ApiSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        method: z.enum(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH']).default('GET'),
        url: RequestUrl,
        followRedirects: z.boolean().default(true),
        skipSSL: z.boolean().default(false),
        serverName: ServerName,
        ipFamily: IpFamilyField,
        addresses: AddressesField,
        traceparentHosts: TraceparentHosts,
        body: z.string().default(''),
        bodyType: z.enum(['NONE', 'JSON', 'FORM', 'RAW', 'GRAPHQL']).default('NONE'),
        headers: z.array(KeyValue.schema).default([]),
        queryParameters: z.array(KeyValue.schema).default([]),
        assertions: z
          .array(
            httpAssertionSchema(
              ['STATUS_CODE', 'RESPONSE_TIME', 'JSON_BODY', 'TEXT_BODY', 'HEADERS'],
              comparisons,
            ),
          )
          .default([]),
        basicAuth: z.object({ username: z.string(), password: z.string() }).nullable().default(null),
        auth: AuthField,
      })
      .refine(isServerNameUsed, { path: ['serverName'], error: 'needs an https URL' })
      .refine(isAuthUnique, { path: ['auth'], error: authNotUnique }),
    degradedResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 20_000, maxMs: 30_000 }),
  }),
);
export type ApiSpec = z.output<typeof ApiSpec.schema>;

/** Values of an API check that API responses never show. */
const sentTo = [['request', 'url']] as const;

export const maskedInApi: readonly MaskedValue[] = [
  { path: ['request', 'headers'], flags: ['locked'], sentTo },
  { path: ['request', 'queryParameters'], flags: ['locked'], sentTo },
  { path: ['request', 'basicAuth', 'password'], sentTo },
  { path: ['request', 'auth', 'password'], sentTo },
];
