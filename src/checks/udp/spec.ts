import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField } from '../contract/target.ts';
import { assertionSchema } from '../judging/assertion.ts';
import { stepRegex } from '../steps/fields.ts';

/** What one datagram carries over IPv4 at most (RFC 768, RFC 791). */
export const maxDatagramBytes = 65_507;

const Step = z.object({
  data: z.string().max(131_014).default('').describe('What the datagram carries; nothing when empty'),
  text: z.string().max(10_000).default('').describe('What the answer contains'),
  regex: stepRegex('What the answer matches'),
});
export type UdpStep = z.output<typeof Step>;

/** A UDP monitor: datagrams one after the other, each sent again where nothing comes, and what comes back. */
export const UdpSpec = z.object({
  shouldFail: z.boolean().default(false),
  request: z
    .object({
      hostname: HostnameField,
      port: z.int().min(1).max(65_535),
      data: z.string().max(131_014).default('').describe('What the datagram carries; nothing when empty'),
      steps: z
        .array(Step)
        .max(20)
        .default([])
        .describe('Several datagrams, each sent when the one before was answered, in place of data'),
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
    .superRefine(({ data, steps, dataFormat }, context) => {
      const refuse = (path: (string | number)[], message: string) =>
        context.addIssue({ code: 'custom', path, message });
      if (steps.length > 0 && data !== '') refuse(['data'], 'cannot be sent in addition to steps');
      if (dataFormat === 'TEXT') return;
      const written = [
        [['data'], data] as const,
        ...steps.map((step, index) => [['steps', index, 'data'], step.data] as const),
      ];
      for (const [path, text] of written) {
        if (text.includes('{{') || isHex(text)) continue;
        refuse([...path], 'must be pairs of hexadecimal digits, with blanks between them if need be');
      }
    }),
  degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 25_000 }),
  maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 25_000 }),
});
export type UdpSpec = z.output<typeof UdpSpec>;

/** Whether a text is whole bytes in hexadecimal digits. */
export function isHex(text: string): boolean {
  return /^(?:\s*[0-9a-f]{2})*\s*$/i.test(text);
}
