import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';

const UdpStepDetail = z.object({
  state: z.enum(stepStates),
  /** How often its datagram was sent. */
  sentCount: z.int(),
  /** Milliseconds since its datagram was sent last. */
  waitMs: z.number(),
  /** What came last, in the form of `dataFormat`, and cut; null when nothing did. */
  answer: z.string().nullable(),
});

/** What a UDP monitor found out, as `udpCheckResult` shows it. */
export const UdpDetail = z
  .object({
    assertions: z.array(EvaluatedAssertion),
    request: z.object({
      hostname: z.string(),
      port: z.int(),
      data: z.string(),
      dataFormat: z.enum(['TEXT', 'HEX']),
      ipFamily: z.enum(ipFamilies),
      attempts: z.int(),
    }),
    /** Absent without steps. */
    steps: z.array(UdpStepDetail).optional(),
    /** What the last answer was; null when nothing was sent. */
    response: z
      .object({
        /** What came back, in the form of `dataFormat`; absent when nothing did. */
        data: z.string().optional(),
        sizeBytes: z.int().nullable(),
        truncated: z.boolean(),
        /** How often anything was sent. */
        sentCount: z.int(),
        /** Milliseconds: the lookup, the waits since the datagrams that were sent last, and their sum. */
        timingPhases: z.object({ dns: z.number(), wait: z.number(), total: z.number() }),
        ipAddress: z.string().nullable(),
        ipFamily: z.enum(ipFamilies).nullable(),
      })
      .nullable(),
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'UdpCheckDetail' });
export type UdpDetail = z.infer<typeof UdpDetail>;
