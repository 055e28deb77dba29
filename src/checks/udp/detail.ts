import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';

const UdpStepDetail = lazySchema(() =>
  z.object({
    state: z.enum(stepStates),
    /** How many times its datagram was sent. */
    sentCount: z.int(),
    /** Milliseconds since the last time its datagram was sent. */
    waitMs: z.number(),
    /** The last reply, in the form of `dataFormat`, truncated; null without one. */
    answer: z.string().nullable(),
  }),
);

/** Result of a run of a UDP monitor, shown as `udpCheckResult`. */
export const UdpDetail = lazySchema(() =>
  z
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
      steps: z.array(UdpStepDetail.schema).optional(),
      /** The last reply; null if nothing was sent. */
      response: z
        .object({
          /** Data of the reply, in the form of `dataFormat`; absent without a reply. */
          data: z.string().optional(),
          sizeBytes: z.int().nullable(),
          truncated: z.boolean(),
          /** Number of datagrams sent. */
          sentCount: z.int(),
          /** Milliseconds: the lookup, the waits after the last datagram of each step, and their sum. */
          timingPhases: z.object({ dns: z.number(), wait: z.number(), total: z.number() }),
          ipAddress: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
        })
        .nullable(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'UdpCheckDetail' }),
);
export type UdpDetail = z.infer<typeof UdpDetail.schema>;
