import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

/** Milliseconds since the start of the request chain at which each step was done (check model 3.1). */
export const HttpTimings = z.object({
  socket: z.number(),
  lookup: z.number(),
  connect: z.number(),
  response: z.number(),
  end: z.number(),
});

/**
 * Milliseconds each step took. `firstByte` includes TLS, as the public phases do; `tls` and `proxy` tell
 * those parts apart. With redirects each phase is the sum over the chain.
 */
export const HttpTimingPhases = z.object({
  wait: z.number(),
  dns: z.number(),
  tcp: z.number(),
  firstByte: z.number(),
  download: z.number(),
  total: z.number(),
  tls: z.number(),
  proxy: z.number(),
});
export type HttpTimings = z.infer<typeof HttpTimings>;
export type HttpTimingPhases = z.infer<typeof HttpTimingPhases>;

/** What the target showed of itself in TLS; valid or not. */
export const CertificateDetail = z
  .object({
    /**
     * The host that showed it; of a chain of redirects, the one whose certificates expire first. Absent for checks
     * with one host, and in results of older agents.
     */
    host: z.string().optional(),
    /** Common names; null for a certificate without. */
    subject: z.string().nullable(),
    issuer: z.string().nullable(),
    /** When the certificate itself expires. */
    validTo: z.iso.datetime(),
    /** Whole days until the first certificate of the chain expires; negative once it has. */
    daysRemaining: z.int(),
    /** Such as `TLSv1.3`. */
    protocol: z.string().nullable(),
    cipher: z.string().nullable(),
  })
  .meta({ id: 'CertificateDetail' });
export type CertificateDetail = z.infer<typeof CertificateDetail>;

/** A request whose answer led to another address. */
export const HttpRedirectDetail = z
  .object({ href: z.string(), status: z.int(), timingPhases: HttpTimingPhases })
  .meta({ id: 'HttpRedirectDetail' });
export type HttpRedirectDetail = z.infer<typeof HttpRedirectDetail>;

const HeaderMap = z.record(z.string(), z.string());

export const HttpLogEntry = z.object({
  time: z.number(),
  msg: z.string(),
  level: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']),
});

/** The log of a run, by stage. */
export const JobLog = z
  .object({
    setup: z.array(HttpLogEntry),
    request: z.array(HttpLogEntry),
    teardown: z.array(HttpLogEntry),
  })
  .nullable();

/** What a run over HTTP found out, as `apiCheckResult` shows it (check model 3.1). */
export const HttpDetail = z
  .object({
    assertions: z.array(EvaluatedAssertion),
    request: z.object({
      method: z.string(),
      url: z.string(),
      data: z.string(),
      headers: HeaderMap,
      params: HeaderMap,
      /** The name for TLS, where the check sets one. */
      serverName: z.string().optional(),
      /** What its host got as `traceparent`, with the id of the trace in it; absent where it got none. */
      traceparent: z.string().optional(),
    }),
    response: z.object({
      status: z.int(),
      statusText: z.string(),
      body: z.string(),
      headers: HeaderMap.nullable(),
      timings: HttpTimings.nullable(),
      timingPhases: HttpTimingPhases.nullable(),
      href: z.string(),
      truncated: z.boolean(),
      /** Where reading the body stopped, in decoded bytes, because there was more than the agent reads. */
      readLimitBytes: z.int().nullable().default(null),
      bodyEncoding: z.literal('base64').optional(),
      httpVersion: z.enum(['1.0', '1.1', '2']).nullable(),
      ipAddress: z.string().nullable(),
      /** Of that address; absent in results of older agents. */
      ipFamily: z.enum(ipFamilies).nullable().optional(),
      redirectCount: z.int(),
      /** The requests that led here, in their order; absent in results of older agents, and without any. */
      redirects: z.array(HttpRedirectDetail).optional(),
      certificate: CertificateDetail.nullable().default(null),
    }),
    addresses: AddressVerdicts,
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'HttpCheckDetail' });
export type HttpDetail = z.infer<typeof HttpDetail>;
