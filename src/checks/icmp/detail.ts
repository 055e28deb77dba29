import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

/** Round-trip times of the replies, in milliseconds. */
export const IcmpLatency = lazySchema(() =>
  z.object({
    avg: z.number(),
    min: z.number(),
    max: z.number(),
    stdDev: z.number(),
  }),
);
export type IcmpLatency = z.infer<typeof IcmpLatency.schema>;

/** Result of one echo request (check model 3.3; `from` and `error` are ours). */
export const PingResult = lazySchema(() =>
  z.object({
    /** Counts from 0. */
    sequence: z.int(),
    /** ICMP type and code of the reply or error; null without one. */
    type: z.int().nullable(),
    code: z.int().nullable(),
    success: z.boolean(),
    /** Milliseconds until the reply, or until an ICMP error from the network. */
    rtt: z.number().nullable(),
    /** Time to live, or hop limit, of the received reply. */
    ttl: z.int().nullable(),
    /** Sender of the reply: the target, or the host or router that sent an ICMP error. */
    from: z.string().nullable(),
    /** Why there is no reply; null with a reply. */
    error: z.string().nullable(),
  }),
);
export type PingResult = z.infer<typeof PingResult.schema>;

/** Result of a run of an ICMP monitor, shown as `apiCheckResult` (check model 3.3). */
export const IcmpDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        hostname: z.string(),
        targetIp: z.string().nullable(),
        ipFamily: z.enum(['IPv4', 'IPv6']),
        pingCount: z.int(),
      }),
      response: z.object({
        hostname: z.string(),
        resolvedIp: z.string().nullable(),
        ipFamily: z.enum(['IPv4', 'IPv6']),
        pingCount: z.int(),
        packetsSent: z.int(),
        packetsReceived: z.int(),
        /** Bytes of each request with its ICMP header, without the IP header. */
        packetSize: z.int(),
        /** Percent of the sent requests; null if none was sent. */
        packetLoss: z.number().min(0).max(100).nullable(),
        dnsResolutionTime: z.number(),
        latency: IcmpLatency.schema.nullable(),
        pingResults: z.array(PingResult.schema),
      }),
      addresses: AddressVerdicts,
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'IcmpCheckDetail' }),
);
export type IcmpDetail = z.infer<typeof IcmpDetail.schema>;
