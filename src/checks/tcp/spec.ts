import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField, ServerName } from '../contract/target.ts';
import { tcpAssertionSchema } from '../http/connection-assertion.ts';

/** A TCP monitor: one connection, what it sends and what comes back (check model 1.4). */
export const TcpSpec = z.object({
  shouldFail: z.boolean().default(false),
  request: z
    .object({
      hostname: HostnameField,
      port: z.int().min(1).max(65_535),
      data: z.string().nullable().default(null).describe('Sent once the connection is ready'),
      ipFamily: IpFamilyField,
      addresses: AddressesField,
      useSSL: z.boolean().default(false).describe('Speak TLS on the connection'),
      skipSSL: z.boolean().default(false).describe('With useSSL: take any certificate'),
      serverName: ServerName.describe(
        'Name for TLS (SNI and certificate) where it is not hostname; needs useSSL',
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
    .refine(({ serverName, useSSL }) => serverName === null || useSSL, {
      path: ['serverName'],
      error: 'needs useSSL',
    }),
  degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 5000 }),
  maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 5000 }),
});
export type TcpSpec = z.output<typeof TcpSpec>;
