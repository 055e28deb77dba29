import { z } from 'zod';
import { thresholdMs } from '../contract/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField } from '../contract/target.ts';
import { assertionSchema } from '../judging/assertion.ts';

/** What one datagram carries over IPv4 at most (RFC 768, RFC 791). */
export const maxDatagramBytes = 65_507;

/** A UDP monitor: one datagram, sent again where nothing comes, and the first that comes back. */
export const UdpSpec = z.object({
  shouldFail: z.boolean().default(false),
  request: z
    .object({
      hostname: HostnameField,
      port: z.int().min(1).max(65_535),
      data: z.string().max(131_014).default('').describe('What the datagram carries; nothing when empty'),
      dataFormat: z
        .enum(['TEXT', 'HEX'])
        .default('TEXT')
        .describe(
          'How data is written, and the answer in results and assertions: as text, or as hexadecimal digits',
        ),
      attempts: z.int().min(1).max(5).default(3).describe('How often it is sent until something comes back'),
      attemptTimeoutMs: z
        .int()
        .min(100)
        .max(5000)
        .default(1000)
        .describe('How long each of them is waited for, in milliseconds'),
      ipFamily: IpFamilyField,
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
    })
    .refine(({ data, dataFormat }) => dataFormat === 'TEXT' || data.includes('{{') || isHex(data), {
      path: ['data'],
      error: 'must be pairs of hexadecimal digits, with blanks between them if need be',
    }),
  degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 25_000 }),
  maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 25_000 }),
});
export type UdpSpec = z.output<typeof UdpSpec>;

/** Whether a text is whole bytes in hexadecimal digits. */
export function isHex(text: string): boolean {
  return /^(?:\s*[0-9a-f]{2})*\s*$/i.test(text);
}
