import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField } from '../contract/target.ts';
import { assertionSchema, valueComparisons } from '../judging/assertion.ts';

export const probeProtocols = ['TCP', 'UDP', 'ICMP'] as const;
export type ProbeProtocol = (typeof probeProtocols)[number];

/** Default ports of probes: for TCP one that is usually open, for UDP one that is usually unused. */
const defaultPorts = { TCP: 443, UDP: 33_434, ICMP: null } as const;

/** Returns the port of a check's probes; null for probes without a port. */
export function portOf({
  protocol,
  port,
}: Pick<TracerouteSpec['request'], 'protocol' | 'port'>): number | null {
  return port ?? defaultPorts[protocol];
}

/** Properties of `RESPONSE_TIME` assertions. */
export const latencyProperties = ['avg', 'min', 'max', 'stdDev'] as const;

const TracerouteAssertion = lazySchema(() =>
  assertionSchema(
    ['RESPONSE_TIME', 'HOP_COUNT', 'PACKET_LOSS', 'PATH', 'JSON_RESPONSE'],
    valueComparisons,
  ).superRefine(({ source, property }, context) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['property'], message });
    if (source === 'RESPONSE_TIME' && !latencyProperties.some((name) => name === property)) {
      refuse(`must be one of [${latencyProperties.join(', ')}] for RESPONSE_TIME`);
    }
    if (source !== 'RESPONSE_TIME' && source !== 'JSON_RESPONSE' && property !== '') {
      refuse(`must be empty for ${source}`);
    }
  }),
);

/** A traceroute monitor: the routers on the path to a host, and whether the host itself replies. */
export const TracerouteSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        url: HostnameField,
        protocol: z
          .enum(probeProtocols)
          .default('TCP')
          .describe('Protocol of the probes: TCP SYN, UDP datagrams or ICMP echo requests'),
        port: z
          .int()
          .min(1)
          .max(65_535)
          .nullable()
          .default(null)
          .describe('Port of TCP and UDP probes; null: 443 with TCP, 33434 with UDP'),
        ipFamily: IpFamilyField,
        maxHops: z.int().min(1).max(64).default(30).describe('Maximum number of hops'),
        maxUnknownHops: z
          .int()
          .min(1)
          .max(30)
          .default(15)
          .describe('Stop after this many consecutive hops without a response'),
        probesPerHop: z.int().min(1).max(10).default(3).describe('Number of probes to each hop'),
        probeTimeoutMs: z
          .int()
          .min(100)
          .max(5000)
          .default(1000)
          .describe('Timeout of a probe in milliseconds'),
        ptrLookup: z
          .boolean()
          .default(true)
          .describe('Whether to look up the names of routers (PTR records, cached for ten minutes)'),
        timeout: z.int().min(1).max(30).default(10).describe('Timeout of the whole run in seconds'),
        assertions: z.array(TracerouteAssertion.schema).default([]),
      })
      .refine(({ protocol, port }) => port === null || protocol !== 'ICMP', {
        path: ['port'],
        error: 'needs the protocol TCP or UDP',
      }),
    degradedResponseTime: thresholdMs({ defaultMs: 10_000, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 20_000, maxMs: 30_000 }),
  }),
);
export type TracerouteSpec = z.output<typeof TracerouteSpec.schema>;
