import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { assertionSchema, valueComparisons } from '../judging/assertion.ts';

/** check model 1.6: 56 data bytes. */
export const defaultPacketBytes = 64;
/** The header, and the random bytes that identify a reply. */
const minPacketBytes = 16;
const maxPacketBytes = 65_507;

/** Properties of `LATENCY` assertions (check model 1.10). */
export const latencyProperties = ['avg', 'min', 'max', 'stdDev'] as const;

const IcmpAssertion = lazySchema(() =>
  assertionSchema(['LATENCY', 'JSON_RESPONSE'], valueComparisons).superRefine(
    ({ source, property }, context) => {
      if (source !== 'LATENCY' || latencyProperties.some((name) => name === property)) return;
      const message = `must be one of [${latencyProperties.join(', ')}] for LATENCY`;
      context.addIssue({ code: 'custom', path: ['property'], message });
    },
  ),
);

const packetLossThreshold = (defaultPercent: number) =>
  z.number().gt(0).max(100).nullable().default(defaultPercent).describe('Percent; null: no limit');

/** An ICMP monitor: echo requests to one host (spec.md "ICMP monitor additions", check model 1.6). */
export const IcmpSpec = lazySchema(() =>
  z
    .object({
      shouldFail: z.boolean().default(false),
      request: z.object({
        hostname: z.string().min(1).max(2048).describe('A host name or an address'),
        ipFamily: IpFamilyField.unwrap()
          .nullable()
          .default('IPv4')
          .describe('IPv4 or null: IPv4, or IPv6 if the name has no IPv4 address; IPv6: IPv6 only'),
        addresses: AddressesField,
        pingCount: z.int().min(1).max(50).nullable().default(10).describe('null: 10'),
        packetSize: z
          .int()
          .min(minPacketBytes)
          .max(maxPacketBytes)
          .nullable()
          .default(defaultPacketBytes)
          .describe(
            'Bytes of each request, including the ICMP header of 8 bytes, without the IP header; null: 64',
          ),
        dontFragment: z.boolean().default(false).describe('Whether to forbid fragmentation of the requests'),
        assertions: z.array(IcmpAssertion.schema).default([]),
      }),
      degradedResponseTime: thresholdMs({ defaultMs: 10_000, maxMs: 300_000 }),
      maxResponseTime: thresholdMs({ defaultMs: 20_000, maxMs: 300_000 }),
      degradedPacketLossThreshold: packetLossThreshold(10),
      maxPacketLossThreshold: packetLossThreshold(20),
    })
    .superRefine(({ degradedPacketLossThreshold: degraded, maxPacketLossThreshold: max }, context) => {
      if (degraded === null || max === null || max >= degraded) return;
      const message = `must be at least degradedPacketLossThreshold (${degraded})`;
      context.addIssue({ code: 'custom', path: ['maxPacketLossThreshold'], message });
    }),
);
export type IcmpSpec = z.output<typeof IcmpSpec.schema>;
