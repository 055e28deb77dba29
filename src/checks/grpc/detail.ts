import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { grpcModes } from './spec.ts';

/** Milliseconds each step took; all but `total` add up to it. */
export const GrpcTimingPhases = z.object({
  dns: z.number(),
  connect: z.number(),
  tls: z.number(),
  /** Until the server's settings of HTTP/2. */
  settings: z.number(),
  /** From the call to the head of its answer. */
  wait: z.number(),
  download: z.number(),
  total: z.number(),
});

const Metadata = z.array(z.object({ key: z.string(), value: z.string() }));

/** What a gRPC monitor found out, as `grpcCheckResult` shows it. */
export const GrpcDetail = z
  .object({
    assertions: z.array(EvaluatedAssertion),
    request: z.object({
      hostname: z.string(),
      port: z.int(),
      ipFamily: z.enum(ipFamilies),
      mode: z.enum(grpcModes),
      tls: z.boolean(),
      skipSSL: z.boolean(),
      /** The name for TLS, where the check sets one. */
      serverName: z.string().nullable(),
      /** `package.Service/Method`. */
      method: z.string(),
      /** What the health service is asked about; null for another method. */
      service: z.string().nullable(),
      message: z.string(),
      metadata: Metadata,
      timeout: z.int(),
      traceparent: z.string().optional(),
    }),
    response: z
      .object({
        grpcMode: z.enum(grpcModes),
        host: z.string(),
        port: z.int(),
        resolvedIp: z.string().nullable(),
        ipFamily: z.enum(ipFamilies).nullable(),
        grpcMethod: z.string(),
        /** As JSON: one message, or an array of those of a stream; null where none came. */
        responseMessage: z.string().nullable(),
        truncated: z.boolean(),
        messageCount: z.int(),
        /** Whether the stream was left after `streamMessages`. */
        isStreamLeft: z.boolean(),
        grpcStatusCode: z.int(),
        grpcStatusName: z.string(),
        grpcStatusMessage: z.string(),
        /** False where the server did not say it: what clients of gRPC make of what happened. */
        isStatusFromServer: z.boolean(),
        healthStatus: z.int().nullable(),
        healthStatusLabel: z.string().nullable(),
        metadata: Metadata,
        trailers: Metadata,
        /** Methods of the service, by reflection. */
        discoveredMethods: z.array(z.string()),
        timingPhases: GrpcTimingPhases,
        /** What reflection took, apart from all phases; null without. */
        reflectionTimeMs: z.number().nullable(),
        certificate: CertificateDetail.nullable(),
      })
      .nullable(),
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'GrpcCheckDetail' });
export type GrpcDetail = z.infer<typeof GrpcDetail>;
