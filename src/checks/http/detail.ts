import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { loginStates } from '../contract/failure-details.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

/** Milliseconds from the start of the request chain to the end of each step (check model 3.1). */
export const HttpTimings = lazySchema(() =>
  z.object({
    socket: z.number(),
    lookup: z.number(),
    connect: z.number(),
    response: z.number(),
    end: z.number(),
  }),
);

/**
 * Duration of each step in milliseconds. `firstByte` includes TLS and logins, as the public phases do; `tls`, `proxy` and
 * `auth` list those parts separately. With redirects each phase is the sum over the chain.
 */
export const HttpTimingPhases = lazySchema(() =>
  z.object({
    wait: z.number(),
    dns: z.number(),
    tcp: z.number(),
    firstByte: z.number(),
    download: z.number(),
    total: z.number(),
    tls: z.number(),
    proxy: z.number(),
    /** The requests of a login before the last one, a part of `firstByte`; absent without them. */
    auth: z.number().optional(),
  }),
);
export type HttpTimings = z.infer<typeof HttpTimings.schema>;
export type HttpTimingPhases = z.infer<typeof HttpTimingPhases.schema>;

/** The target's TLS certificate, valid or not. */
export const CertificateDetail = lazySchema(() =>
  z
    .object({
      /**
       * Host that presented it; in a chain of redirects, the host whose certificate chain expires first. Absent for
       * checks with one host, and in results of older agents.
       */
      host: z.string().optional(),
      /** Common names; null for a certificate without one. */
      subject: z.string().nullable(),
      issuer: z.string().nullable(),
      /** When the certificate itself expires. */
      validTo: z.iso.datetime(),
      /** Whole days until the first certificate of the chain expires; negative after that. */
      daysRemaining: z.int(),
      /** Such as `TLSv1.3`. */
      protocol: z.string().nullable(),
      cipher: z.string().nullable(),
    })
    .meta({ id: 'CertificateDetail' }),
);
export type CertificateDetail = z.infer<typeof CertificateDetail.schema>;

/** A request whose response redirected to another URL. */
export const HttpRedirectDetail = lazySchema(() =>
  z
    .object({ href: z.string(), status: z.int(), timingPhases: HttpTimingPhases.schema })
    .meta({ id: 'HttpRedirectDetail' }),
);
export type HttpRedirectDetail = z.infer<typeof HttpRedirectDetail.schema>;

/** How a request logged in; see `request.auth`. */
export const HttpLoginDetail = lazySchema(() =>
  z
    .object({
      /** The scheme, as servers name it. */
      scheme: z.enum(['Digest', 'NTLM', 'Negotiate']),
      state: z.enum(loginStates),
      /** Cause, as far as the agent knows it: a flaw of the challenge. */
      reason: z.string().nullable(),
      /** Schemes of the last challenge, in its order. */
      offered: z.array(z.string()),
      /** Algorithm of the credentials; null if none were sent, or the scheme has only one. */
      algorithm: z.string().nullable(),
      /** The requests before the last one that the server answered with a challenge; times in milliseconds. */
      legs: z.array(z.object({ status: z.int(), wait: z.number(), download: z.number() })),
    })
    .meta({ id: 'HttpLoginDetail' }),
);
export type HttpLoginDetail = z.infer<typeof HttpLoginDetail.schema>;

const HeaderMap = lazySchema(() => z.record(z.string(), z.string()));

export const HttpLogEntry = lazySchema(() =>
  z.object({
    time: z.number(),
    msg: z.string(),
    level: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']),
  }),
);

/** The log of a run, by stage. */
export const JobLog = lazySchema(() =>
  z
    .object({
      setup: z.array(HttpLogEntry.schema),
      request: z.array(HttpLogEntry.schema),
      teardown: z.array(HttpLogEntry.schema),
    })
    .nullable(),
);

/** Result of a run over HTTP, shown as `apiCheckResult` (check model 3.1). */
export const HttpDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        method: z.string(),
        url: z.string(),
        data: z.string(),
        headers: HeaderMap.schema,
        params: HeaderMap.schema,
        /** TLS server name, if the check sets one. */
        serverName: z.string().optional(),
        /** The `traceparent` header that the host received, with the trace id in it; absent if it received none. */
        traceparent: z.string().optional(),
      }),
      response: z.object({
        status: z.int(),
        statusText: z.string(),
        body: z.string(),
        headers: HeaderMap.schema.nullable(),
        timings: HttpTimings.schema.nullable(),
        timingPhases: HttpTimingPhases.schema.nullable(),
        href: z.string(),
        truncated: z.boolean(),
        /** Where reading the body stopped, in decoded bytes, if it exceeds the agent's limit. */
        readLimitBytes: z.int().nullable().default(null),
        bodyEncoding: z.literal('base64').optional(),
        httpVersion: z.enum(['1.0', '1.1', '2']).nullable(),
        ipAddress: z.string().nullable(),
        /** Family of that address; absent in results of older agents. */
        ipFamily: z.enum(ipFamilies).nullable().optional(),
        redirectCount: z.int(),
        /** The redirects that led here, in order; absent in results of older agents, and without redirects. */
        redirects: z.array(HttpRedirectDetail.schema).optional(),
        certificate: CertificateDetail.schema.nullable().default(null),
        /** Absent for requests without a login that answers challenges. */
        login: HttpLoginDetail.schema.optional(),
      }),
      addresses: AddressVerdicts,
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'HttpCheckDetail' }),
);
export type HttpDetail = z.infer<typeof HttpDetail.schema>;
