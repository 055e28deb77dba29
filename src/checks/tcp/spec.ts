import { z } from 'zod';
import { thresholdMs } from '../contract/common-fields.ts';
import { parseHostname } from '../contract/target.ts';
import { assertionSchema } from '../judging/assertion.ts';

/** A TCP monitor: one connection, what it sends and what comes back (check model 1.4). */
export const TcpSpec = z.object({
  shouldFail: z.boolean().default(false),
  request: z.object({
    hostname: z
      .string()
      .min(1)
      .max(2048)
      // What templates make of it is known only when it runs.
      .refine((text) => text === '' || text.includes('{{') || parseHostname(text) !== undefined, {
        error: 'must be a host name or an address, without scheme, port and path',
      })
      .describe('A host name or an address, without scheme and port'),
    port: z.int().min(1).max(65_535),
    data: z.string().nullable().default(null).describe('Sent once the connection is ready'),
    ipFamily: z.enum(['IPv4', 'IPv6']).default('IPv4'),
    useSSL: z.boolean().default(false).describe('Speak TLS on the connection'),
    skipSSL: z.boolean().default(false).describe('With useSSL: take any certificate'),
    assertions: z
      .array(
        assertionSchema(
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
  }),
  degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 5000 }),
  maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 5000 }),
});
export type TcpSpec = z.output<typeof TcpSpec>;
