import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField } from '../contract/target.ts';
import { assertionSchema } from '../judging/assertion.ts';
import { stepRegex } from '../steps/fields.ts';

/** Largest payload of a datagram over IPv4 (RFC 768, RFC 791). */
export const maxDatagramBytes = 65_507;

const Step = lazySchema(() =>
  z.object({
    data: z.string().max(131_014).default('').describe('Payload of the datagram; may be empty'),
    text: z.string().max(10_000).default('').describe('Text that the response must contain'),
    regex: stepRegex('Regular expression for the response'),
  }),
);
export type UdpStep = z.output<typeof Step.schema>;

/** A UDP monitor: sends datagrams in order, each repeated until a reply arrives, and judges the replies. */
export const UdpSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        hostname: HostnameField,
        port: z.int().min(1).max(65_535),
        data: z.string().max(131_014).default('').describe('Payload of the datagram; may be empty'),
        steps: z
          .array(Step.schema)
          .max(20)
          .default([])
          .describe('Several datagrams instead of data; each is sent after the response to the previous one'),
        dataFormat: z
          .enum(['TEXT', 'HEX'])
          .default('TEXT')
          .describe(
            'Format of data, and of the response in results and assertions: text or hexadecimal digits',
          ),
        attempts: z.int().min(1).max(5).default(3).describe('Number of attempts until a response arrives'),
        attemptTimeoutMs: z
          .int()
          .min(100)
          .max(5000)
          .default(1000)
          .describe('Timeout of each attempt in milliseconds'),
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
          if (hasTemplate(text) || isHex(text)) continue;
          refuse([...path], 'must be pairs of hexadecimal digits, optionally separated by spaces');
        }
      }),
    degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 25_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 25_000 }),
  }),
);
export type UdpSpec = z.output<typeof UdpSpec.schema>;

/** Whether a text consists of whole bytes in hexadecimal digits. */
export function isHex(text: string): boolean {
  return /^(?:\s*[0-9a-f]{2})*\s*$/i.test(text);
}
