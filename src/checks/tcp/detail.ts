import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { stepStates } from '../steps/fields.ts';
import { tcpStepTypes } from './spec.ts';

/** Milliseconds each step took; all but `total` add up to it (check model 1.4; `tls` is ours). */
export const TcpTimingPhases = z.object({
  dns: z.number(),
  connection: z.number(),
  tls: z.number(),
  data: z.number(),
  total: z.number(),
});

/** Why there was no connection or no answer, as programs look at it (check model 3.3). */
export const TcpError = z.object({
  /** Of the system (`ECONNREFUSED`, `ENOTFOUND`), of TLS, or `SOCKET_TIMEOUT`. */
  code: z.string(),
  errno: z.int().optional(),
  syscall: z.string().optional(),
  hostname: z.string().optional(),
  address: z.string().optional(),
  port: z.int().optional(),
});
export type TcpError = z.infer<typeof TcpError>;

const TcpStepDetail = z.object({
  type: z.enum(tcpStepTypes),
  state: z.enum(stepStates),
  /** How long the server took for it. */
  waitMs: z.number(),
  /** The last line that it looked at; null: none came. */
  line: z.string().nullable(),
  /** Lines that did not fit. */
  skippedCount: z.int(),
});

const TcpLine = z.object({
  direction: z.enum(['SENT', 'RECEIVED']),
  text: z.string(),
  truncated: z.boolean(),
  /** Milliseconds since the connection was ready at which it left or arrived. */
  atMs: z.number(),
  /** The number of the step that sent or took it, from 1; null for one that no step took. */
  step: z.int().nullable(),
});

/** What a TCP monitor found out, as `apiCheckResult` shows it (check model 3.3). */
export const TcpDetail = z
  .object({
    assertions: z.array(EvaluatedAssertion),
    request: z.object({
      hostname: z.string(),
      port: z.int(),
      data: z.string().nullable(),
      ipFamily: z.enum(ipFamilies),
      useSSL: z.boolean(),
      skipSSL: z.boolean(),
      /** The name for TLS, where the check sets one. */
      serverName: z.string().optional(),
    }),
    response: z.object({
      /** What the target sent, as UTF-8; absent when no answer was waited for. */
      data: z.string().optional(),
      truncated: z.boolean(),
      /** What was said step by step; absent without steps. */
      lines: z.array(TcpLine).optional(),
      error: TcpError.optional(),
      timingPhases: TcpTimingPhases.nullable(),
      ipAddress: z.string().nullable(),
      /** Of that address; absent in results of older agents. */
      ipFamily: z.enum(ipFamilies).nullable().optional(),
      certificate: CertificateDetail.nullable().default(null),
    }),
    addresses: AddressVerdicts,
    /** Absent without steps. */
    steps: z.array(TcpStepDetail).optional(),
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'TcpCheckDetail' });
export type TcpDetail = z.infer<typeof TcpDetail>;
