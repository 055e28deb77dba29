import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressVerdicts } from '../addresses/fields.ts';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { startTlsProtocols } from './spec.ts';

const DateOrNull = lazySchema(() => z.iso.datetime().nullable());

/** One certificate of a chain. */
export const SslCertificate = lazySchema(() =>
  z
    .object({
      subjectCN: z.string().nullable(),
      subject: z.string(),
      issuerCN: z.string().nullable(),
      issuer: z.string(),
      serialNumber: z.string(),
      fingerprintSha256: z.string(),
      notBefore: DateOrNull.schema,
      notAfter: DateOrNull.schema,
      /** Whole days; negative after the expiry. */
      daysUntilExpiry: z.int().nullable(),
      sans: z.array(z.string()),
      keyAlgorithm: z.string(),
      keySizeBits: z.int().nullable(),
      signatureAlgorithm: z.string(),
      selfSigned: z.boolean(),
      isCA: z.boolean(),
      mustStaple: z.boolean(),
      /** Signed certificate timestamps in it. */
      scts: z.array(z.object({ logId: z.string(), timestamp: DateOrNull.schema })),
    })
    .meta({ id: 'SslCertificate' }),
);
export type SslCertificate = z.infer<typeof SslCertificate.schema>;

/** Duration of each phase in milliseconds; the phases add up to `total`. */
export const SslTimingPhases = lazySchema(() =>
  z.object({
    dns: z.number(),
    connection: z.number(),
    startTls: z.number(),
    tls: z.number(),
    total: z.number(),
  }),
);

/** Result of a rule of the baseline. */
const BaselineRule = lazySchema(() =>
  z.object({
    severity: z.enum(['fail', 'degrade']),
    violated: z.boolean(),
    value: z.union([z.string(), z.number()]).nullable(),
  }),
);

/** Result of a run of an SSL monitor, shown as `sslCheckResult`. */
export const SslDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        hostname: z.string(),
        port: z.int(),
        ipFamily: z.enum(ipFamilies),
        /** TLS server name, if the check sets one. */
        serverName: z.string().nullable(),
        startTls: z.enum(startTlsProtocols).nullable(),
        alpnProtocols: z.array(z.string()),
        skipChainValidation: z.boolean(),
      }),
      response: z
        .object({
          resolvedIp: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
          timingPhases: SslTimingPhases.schema,
          handshakeTimeMs: z.number().nullable(),
          protocol: z.string().nullable(),
          cipherSuite: z.string().nullable(),
          keyExchange: z.string().nullable(),
          alpnProtocol: z.string().nullable(),
          chainTrusted: z.boolean().nullable(),
          /** Why the chain is not trusted. */
          trustError: z.string().nullable(),
          hostnameVerified: z.boolean().nullable(),
          /** Why the certificate does not match the name. */
          hostnameError: z.string().nullable(),
          /** Of the target's own certificate. */
          daysUntilExpiry: z.int().nullable(),
          /** Of the first certificate of the chain to expire; roots do not count. */
          chainDaysUntilExpiry: z.int().nullable(),
          ocspStapled: z.boolean().nullable(),
          ocspStatus: z.string().nullable(),
          ocsp: z
            .object({
              producedAt: DateOrNull.schema,
              thisUpdate: DateOrNull.schema,
              nextUpdate: DateOrNull.schema,
              revokedAt: DateOrNull.schema,
            })
            .nullable(),
          /** By rule, and the overall `verdict`; null while the baseline is off. */
          securityBaseline: z
            .record(z.string(), z.union([BaselineRule.schema, z.enum(['pass', 'warn', 'fail'])]))
            .nullable(),
          certificate: SslCertificate.schema.nullable(),
          /** Certificates in the order of the handshake, the target's own first. */
          chain: z.array(SslCertificate.schema),
          /** From the target's certificate to the last issuer that this location knows. */
          path: z.array(
            z.object({
              subjectCN: z.string().nullable(),
              fingerprintSha256: z.string(),
              notAfter: DateOrNull.schema,
              /** Whether the target sent it; otherwise it is from the certificate authorities of the location. */
              wasSent: z.boolean(),
            }),
          ),
        })
        .nullable(),
      baselineVerdict: z.enum(['pass', 'warn', 'fail']).nullable(),
      /** Why the run is degraded, apart from its time. */
      degradedReasons: z.array(z.string()),
      addresses: AddressVerdicts,
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'SslCheckDetail' }),
);
export type SslDetail = z.infer<typeof SslDetail.schema>;
