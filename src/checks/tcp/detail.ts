import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

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
      error: TcpError.optional(),
      timingPhases: TcpTimingPhases.nullable(),
      ipAddress: z.string().nullable(),
      /** Of that address; absent in results of older agents. */
      ipFamily: z.enum(ipFamilies).nullable().optional(),
      certificate: CertificateDetail.nullable().default(null),
    }),
    addresses: AddressVerdicts,
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
  })
  .meta({ id: 'TcpCheckDetail' });
export type TcpDetail = z.infer<typeof TcpDetail>;
