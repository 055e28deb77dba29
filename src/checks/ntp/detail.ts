import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import type { LeapState } from '@picket/probes/ntp/packet.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

const leapStates = ['none', 'insert', 'delete', 'unsynchronized'] as const satisfies readonly LeapState[];

/** State of a server's clock by its own account (RFC 5905 section 7.3), and its offset from the clock of the agent. */
export const NtpTime = lazySchema(() =>
  z
    .object({
      version: z.int(),
      leap: z
        .enum(leapStates)
        .describe('Leap second at the end of the day; unsynchronized: the server has no time'),
      stratum: z.int().describe('1: a reference clock is attached; 2 to 15: steps from one'),
      kissCode: z.string().nullable().describe('Why the server gives no time, such as DENY, RATE or INIT'),
      referenceId: z.string().describe('The source of its time: a name, an IPv4 address or a hash'),
      referenceTime: z.string().nullable().describe('When its clock was last set; null: never'),
      precisionMs: z.number(),
      rootDelayMs: z.number().describe('Round trip from the server to its reference clock'),
      rootDispersionMs: z.number().describe('Error bound that the server has for its own clock'),
      offsetMs: z
        .number()
        .nullable()
        .describe('Clock of the server minus clock of the agent; null if the server gives no time'),
      roundTripMs: z
        .number()
        .nullable()
        .describe('Time on the network, without the processing of the server'),
      errorBoundMs: z
        .number()
        .nullable()
        .describe(
          'Maximum error of the offset: half of both round trips, the root dispersion, and how late the agent read its clock',
        ),
    })
    .meta({ id: 'NtpTime' }),
);
export type NtpTime = z.infer<typeof NtpTime.schema>;

/** Result of a run of an NTP monitor, shown as `ntpCheckResult`. */
export const NtpDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        hostname: z.string(),
        port: z.int(),
        ipFamily: z.enum(ipFamilies),
        attempts: z.int(),
      }),
      /** Null if nothing was sent. */
      response: z
        .object({
          /** Null without an answer. */
          time: NtpTime.schema.nullable(),
          /** Number of requests. */
          sentCount: z.int(),
          /** Datagrams from the server that were not answers to a request. */
          ignoredCount: z.int(),
          /** Milliseconds: the lookup, the wait after the last request, and their sum. */
          timingPhases: z.object({ dns: z.number(), wait: z.number(), total: z.number() }),
          ipAddress: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
        })
        .nullable(),
      /** Why the run is degraded, apart from its time. */
      degradedReasons: z.array(z.string()),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'NtpCheckDetail' }),
);
export type NtpDetail = z.infer<typeof NtpDetail.schema>;
