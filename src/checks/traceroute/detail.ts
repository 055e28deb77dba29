import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { probeProtocols } from './spec.ts';

/** Round-trip times, in milliseconds. */
export const HopLatency = lazySchema(() =>
  z.object({
    avg: z.number(),
    best: z.number(),
    worst: z.number(),
    stdDev: z.number(),
  }),
);
export type HopLatency = z.infer<typeof HopLatency.schema>;

/** All replies from one distance. */
export const TracerouteHop = lazySchema(() =>
  z.object({
    /** The distance: 1 is the first router. */
    hopNumber: z.int(),
    /** The address that replied most often; null without a reply. */
    mainIp: z.string().nullable(),
    /** Host name from its PTR record; null if it has none, or none was looked up. */
    mainHost: z.string().nullable(),
    /** All addresses that replied. Several: packets take several paths. */
    ips: z.array(z.string()),
    sent: z.int(),
    received: z.int(),
    /** Percent of the probes without a reply. Loss at a router is not a fault: many reply rarely, or never. */
    lossPercentage: z.number().nullable(),
    rtt: HopLatency.schema.nullable(),
    /** ICMP error about the path beyond it; null if it only reported that the time to live was exceeded. */
    error: z.string().nullable(),
  }),
);
export type TracerouteHop = z.infer<typeof TracerouteHop.schema>;

/** Why the path was not followed further. */
export const truncationReasons = [
  'UNREACHABLE',
  'MAX_UNKNOWN_HOPS',
  'MAX_HOPS',
  'TIMEOUT',
  'NOT_SENT',
] as const;

/** Result of a run of a traceroute monitor. */
export const TracerouteDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        url: z.string(),
        protocol: z.enum(probeProtocols),
        port: z.int().nullable(),
        ipFamily: z.enum(ipFamilies),
        maxHops: z.int(),
        maxUnknownHops: z.int(),
        probesPerHop: z.int(),
      }),
      response: z
        .object({
          hostname: z.string(),
          resolvedIp: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
          protocol: z.enum(probeProtocols),
          destinationReached: z.boolean(),
          /** Whether the target accepts connections or datagrams at the port; null if unknown. */
          destinationPort: z.enum(['open', 'closed']).nullable(),
          /**
           * Distance of the target's address; if it was not reached, of the last hop in the list. If the target forwards
           * the probes, the list contains the hops behind it.
           */
          totalHops: z.int(),
          /**
           * Distance and address of the target; if it was not reached, of the last hop that replied; null without a
           * reply.
           */
          lastHop: z.object({ hopNumber: z.int(), ip: z.string().nullable() }).nullable(),
          truncationReason: z.enum(truncationReasons).nullable(),
          /** Of the target; null if it was not reached. */
          finalHopLatency: HopLatency.schema.nullable(),
          /** Percent of the probes to the target without a reply; 100 if it was not reached. */
          packetLoss: z.number().min(0).max(100).nullable(),
          timingPhases: z.object({ dns: z.number() }),
          hops: z.array(TracerouteHop.schema),
        })
        .nullable(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
    })
    .meta({ id: 'TracerouteCheckDetail' }),
);
export type TracerouteDetail = z.infer<typeof TracerouteDetail.schema>;
