import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { grpcModes } from './spec.ts';

/** Duration of each phase in milliseconds; the phases add up to `total`. */
export const GrpcTimingPhases = lazySchema(() =>
  z.object({
    dns: z.number(),
    connect: z.number(),
    tls: z.number(),
    /** Until the HTTP/2 settings of the server. */
    settings: z.number(),
    /** From the call to the headers of its response. */
    wait: z.number(),
    download: z.number(),
    total: z.number(),
  }),
);

const Metadata = lazySchema(() => z.array(z.object({ key: z.string(), value: z.string() })));

/** Result of a run of a gRPC monitor, shown as `grpcCheckResult`. */
export const GrpcDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        hostname: z.string(),
        port: z.int(),
        ipFamily: z.enum(ipFamilies),
        mode: z.enum(grpcModes),
        tls: z.boolean(),
        skipSSL: z.boolean(),
        /** TLS server name, if the check sets one. */
        serverName: z.string().nullable(),
        /** `package.Service/Method`. */
        method: z.string(),
        /** Service named in the health request; null for another method. */
        service: z.string().nullable(),
        message: z.string(),
        metadata: Metadata.schema,
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
          /** As JSON: one message, or an array of those of a stream; null without a message. */
          responseMessage: z.string().nullable(),
          truncated: z.boolean(),
          messageCount: z.int(),
          /** Whether the run left the stream after `streamMessages`. */
          isStreamLeft: z.boolean(),
          grpcStatusCode: z.int(),
          grpcStatusName: z.string(),
          grpcStatusMessage: z.string(),
          /** False if the server sent no status: then it is the one that gRPC clients derive from the failure. */
          isStatusFromServer: z.boolean(),
          healthStatus: z.int().nullable(),
          healthStatusLabel: z.string().nullable(),
          metadata: Metadata.schema,
          trailers: Metadata.schema,
          /** Methods of the service, from reflection. */
          discoveredMethods: z.array(z.string()),
          timingPhases: GrpcTimingPhases.schema,
          /** Duration of reflection, not part of any phase; null without reflection. */
          reflectionTimeMs: z.number().nullable(),
          certificate: CertificateDetail.schema.nullable(),
        })
        .nullable(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'GrpcCheckDetail' }),
);
export type GrpcDetail = z.infer<typeof GrpcDetail.schema>;
