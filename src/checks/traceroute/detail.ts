import { z } from 'zod';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { probeProtocols } from './spec.ts';

/** Round trip times, in milliseconds. */
export const HopLatency = z.object({
  avg: z.number(),
  best: z.number(),
  worst: z.number(),
  stdDev: z.number(),
});
export type HopLatency = z.infer<typeof HopLatency>;

/** All that answered from one distance. */
export const TracerouteHop = z.object({
  /** The distance: 1 is the first router. */
  hopNumber: z.int(),
  /** The address that answered most often; null when nothing answered. */
  mainIp: z.string().nullable(),
  /** Its name by its PTR record; null when it has none, or none was looked up. */
  mainHost: z.string().nullable(),
  /** All that answered. Several: packets take several ways. */
  ips: z.array(z.string()),
  sent: z.int(),
  received: z.int(),
  /** Percent of the probes that nobody answered. Of a router it is no fault: many answer rarely, or never. */
  lossPercentage: z.number().nullable(),
  rtt: HopLatency.nullable(),
  /** What it says of the way on; null when it says nothing but that the packet had come that far. */
  error: z.string().nullable(),
});
export type TracerouteHop = z.infer<typeof TracerouteHop>;

/** Why the way was not followed any further. */
export const truncationReasons = [
  'UNREACHABLE',
  'MAX_UNKNOWN_HOPS',
  'MAX_HOPS',
  'TIMEOUT',
  'NOT_SENT',
] as const;

/** What a traceroute monitor found out. */
export const TracerouteDetail = z
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
        /** Whether the target accepts connections or datagrams at the port; null when it did not say. */
        destinationPort: z.enum(['open', 'closed']).nullable(),
        /**
         * The distance of the target's address; when it was not reached, of the last hop in the list. Hops behind it
         * are there when it forwards the probes.
         */
        totalHops: z.int(),
        /** Distance and address of the target; when it was not reached, of the last that answered; null when nothing answered. */
        lastHop: z.object({ hopNumber: z.int(), ip: z.string().nullable() }).nullable(),
        truncationReason: z.enum(truncationReasons).nullable(),
        /** Of the target; null when it was not reached. */
        finalHopLatency: HopLatency.nullable(),
        /** Percent of the probes for the target that it did not answer; 100 when it was not reached. */
        packetLoss: z.number().min(0).max(100).nullable(),
        timingPhases: z.object({ dns: z.number() }),
        hops: z.array(TracerouteHop),
      })
      .nullable(),
    requestError: z.string().nullable(),
    jobLog: JobLog,
  })
  .meta({ id: 'TracerouteCheckDetail' });
export type TracerouteDetail = z.infer<typeof TracerouteDetail>;
