import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField, ServerName } from '../contract/target.ts';
import { tcpAssertionSchema } from '../http/connection-assertion.ts';
import { stepRegex, stepTimeout } from '../steps/fields.ts';

export const tcpStepTypes = ['SEND', 'EXPECT', 'START_TLS'] as const;

const Step = lazySchema(() =>
  z
    .object({
      type: z
        .enum(tcpStepTypes)
        .describe('SEND: sends text; EXPECT: reads lines until one matches; START_TLS: switches to TLS'),
      text: z
        .string()
        .max(100_000)
        .default('')
        .describe('SEND: text to send, including line ends; EXPECT: text that the line contains'),
      regex: stepRegex('EXPECT: regular expression for the line'),
      timeoutMs: stepTimeout('EXPECT, START_TLS', 30_000),
    })
    .superRefine(({ type, text, regex, timeoutMs }, context) => {
      const refuse = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      if (type === 'SEND' && text === '') refuse('text', 'is needed for SEND');
      if (type === 'SEND' && timeoutMs !== null) refuse('timeoutMs', 'belongs to EXPECT and START_TLS');
      if (type === 'START_TLS' && text !== '') refuse('text', 'belongs to SEND and EXPECT');
      if (type !== 'EXPECT' && regex !== '') refuse('regex', 'belongs to EXPECT');
    }),
);
export type TcpStep = z.output<typeof Step.schema>;

/** A TCP monitor: one connection, the data it sends and the data it receives (check model 1.4). */
export const TcpSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        hostname: HostnameField,
        port: z.int().min(1).max(65_535),
        data: z.string().nullable().default(null).describe('Data to send when the connection is ready'),
        steps: z
          .array(Step.schema)
          .max(50)
          .default([])
          .describe('A line-based conversation, step by step, instead of data'),
        ipFamily: IpFamilyField,
        addresses: AddressesField,
        useSSL: z.boolean().default(false).describe('Use TLS'),
        skipSSL: z.boolean().default(false).describe('Skip certificate verification (with useSSL)'),
        serverName: ServerName.describe(
          'TLS server name (SNI and certificate), if different from hostname; needs useSSL',
        ),
        assertions: z
          .array(
            tcpAssertionSchema(
              ['RESPONSE_DATA', 'RESPONSE_TIME'],
              [
                'EQUALS',
                'NOT_EQUALS',
                'IS_EMPTY',
                'NOT_EMPTY',
                'LESS_THAN',
                'GREATER_THAN',
                'CONTAINS',
                'NOT_CONTAINS',
              ],
            ),
          )
          .default([]),
      })
      .refine((request) => request.serverName === null || request.useSSL || startsTls(request), {
        path: ['serverName'],
        error: 'needs useSSL, or a step START_TLS',
      })
      .refine(({ data, steps }) => steps.length === 0 || (data ?? '') === '', {
        path: ['data'],
        error: 'cannot be sent in addition to steps: use a step SEND',
      })
      .refine((request) => !(request.useSSL && startsTls(request)), {
        path: ['useSSL'],
        error: 'cannot be true with a step START_TLS',
      }),
    degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 5000 }),
    maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 5000 }),
  }),
);
export type TcpSpec = z.output<typeof TcpSpec.schema>;

function startsTls({ steps }: { readonly steps: readonly TcpStep[] }): boolean {
  return steps.some(({ type }) => type === 'START_TLS');
}
