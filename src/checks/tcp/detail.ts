import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';
import { tcpStepTypes } from './spec.ts';

/** Duration of each phase in milliseconds; the phases add up to `total` (check model 1.4; `tls` is ours). */
export const TcpTimingPhases = lazySchema(() =>
  z.object({
    dns: z.number(),
    connection: z.number(),
    tls: z.number(),
    data: z.number(),
    total: z.number(),
  }),
);

/** Why there was no connection or no response, for programs (check model 3.3). */
export const TcpError = lazySchema(() =>
  z.object({
    /** System error (`ECONNREFUSED`, `ENOTFOUND`), TLS error, or `SOCKET_TIMEOUT`. */
    code: z.string(),
    errno: z.int().optional(),
    syscall: z.string().optional(),
    hostname: z.string().optional(),
    address: z.string().optional(),
    port: z.int().optional(),
  }),
);
export type TcpError = z.infer<typeof TcpError.schema>;

const TcpStepDetail = lazySchema(() =>
  z.object({
    type: z.enum(tcpStepTypes),
    state: z.enum(stepStates),
    /** Time that the server took for it. */
    waitMs: z.number(),
    /** The last line that the step examined; null: none was received. */
    line: z.string().nullable(),
    /** Lines that did not match. */
    skippedCount: z.int(),
  }),
);

const TcpLine = lazySchema(() =>
  z.object({
    direction: z.enum(['SENT', 'RECEIVED']),
    text: z.string(),
    truncated: z.boolean(),
    /** Time at which it was sent or received, in milliseconds since the connection was ready. */
    atMs: z.number(),
    /** Number of the step that sent or accepted it, from 1; null if no step did. */
    step: z.int().nullable(),
  }),
);

/** Result of a run of a TCP monitor, shown as `apiCheckResult` (check model 3.3). */
export const TcpDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        hostname: z.string(),
        port: z.int(),
        data: z.string().nullable(),
        ipFamily: z.enum(ipFamilies),
        useSSL: z.boolean(),
        skipSSL: z.boolean(),
        /** TLS server name, if the check sets one. */
        serverName: z.string().optional(),
      }),
      response: z.object({
        /** Data from the target, as UTF-8; absent if the run did not wait for any. */
        data: z.string().optional(),
        truncated: z.boolean(),
        /** Lines sent and received; absent without steps. */
        lines: z.array(TcpLine.schema).optional(),
        error: TcpError.schema.optional(),
        timingPhases: TcpTimingPhases.schema.nullable(),
        ipAddress: z.string().nullable(),
        /** Family of that address; absent in results of older agents. */
        ipFamily: z.enum(ipFamilies).nullable().optional(),
        certificate: CertificateDetail.schema.nullable().default(null),
      }),
      addresses: AddressVerdicts,
      /** Absent without steps. */
      steps: z.array(TcpStepDetail.schema).optional(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'TcpCheckDetail' }),
);
export type TcpDetail = z.infer<typeof TcpDetail.schema>;
