import { maxProtoLength } from '@picket/lib/proto/proto-file.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import type { MaskedValue } from '../contract/masking.ts';
import { HostnameField, ServerName, TraceparentHosts } from '../contract/target.ts';
import { tcpAssertionSchema } from '../http/connection-assertion.ts';
import { comparisons } from '../judging/assertion.ts';

export const grpcModes = ['BEHAVIOR', 'HEALTH'] as const;

const GrpcConfig = lazySchema(() =>
  z
    .object({
      mode: z
        .enum(grpcModes)
        .default('BEHAVIOR')
        .describe('BEHAVIOR: calls a method; HEALTH: queries the health service (grpc.health.v1)'),
      tls: z.boolean().default(true).describe('Use TLS'),
      metadata: z
        .array(
          z.object({
            key: z.string().min(1).max(200),
            value: z.string().max(8192).default(''),
            locked: z.boolean().default(false),
          }),
        )
        .max(50)
        .default([])
        .describe('Sent with the call; values of keys that end in -bin are base64'),
      serviceDefinition: z
        .enum(['REFLECTION', 'PROTO_FILE'])
        .default('REFLECTION')
        .describe('Source of the message types: server reflection, or protoContent'),
      method: z
        .string()
        .max(500)
        .refine((text) => text === '' || hasTemplate(text) || /^\/?[\w.]+\/\w+$/.test(text), {
          error: 'must be package.Service/Method',
        })
        .default('')
        .describe('BEHAVIOR: method to call, such as shop.v1.Orders/Get; unary or server-streaming'),
      protoContent: z
        .string()
        .max(maxProtoLength)
        .default('')
        .describe('PROTO_FILE: content of the .proto file that defines the service'),
      message: z.string().max(100_000).default('').describe('BEHAVIOR: request message as JSON; empty: {}'),
      streamMessages: z
        .int()
        .min(1)
        .max(1000)
        .nullable()
        .default(null)
        .describe(
          'For a streaming method: end the call after this many messages; null: read until the stream ends',
        ),
      service: z
        .string()
        .max(500)
        .default('')
        .describe('HEALTH: name of the service; empty: the whole server'),
    })
    .superRefine((config, context) => {
      const refuse = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      if (config.mode === 'HEALTH') {
        for (const field of ['method', 'protoContent', 'message'] as const) {
          if (config[field] !== '') refuse(field, 'belongs to the mode BEHAVIOR');
        }
        if (config.serviceDefinition !== 'REFLECTION')
          refuse('serviceDefinition', 'belongs to the mode BEHAVIOR');
        if (config.streamMessages !== null) refuse('streamMessages', 'belongs to the mode BEHAVIOR');
        return;
      }
      if (config.method === '') refuse('method', 'is needed in the mode BEHAVIOR');
      if (config.service !== '') refuse('service', 'belongs to the mode HEALTH');
      const isFile = config.serviceDefinition === 'PROTO_FILE';
      if (isFile && config.protoContent === '') refuse('protoContent', 'is needed with PROTO_FILE');
      if (!isFile && config.protoContent !== '') refuse('protoContent', 'needs serviceDefinition PROTO_FILE');
    }),
);

/** A gRPC monitor: one call, and assertions on its response. */
export const GrpcSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        url: HostnameField,
        port: z.int().min(1).max(65_535),
        ipFamily: IpFamilyField,
        skipSSL: z.boolean().default(false).describe('Skip certificate verification (with tls)'),
        serverName: ServerName,
        traceparentHosts: TraceparentHosts,
        timeout: z
          .int()
          .min(1)
          .max(180)
          .default(60)
          .describe('Timeout of the connection and the call in seconds, sent to the server as its deadline'),
        grpcConfig: GrpcConfig.schema,
        assertions: z
          .array(
            tcpAssertionSchema(
              [
                'RESPONSE_TIME',
                'GRPC_STATUS_CODE',
                'GRPC_HEALTHCHECK_STATUS',
                'GRPC_RESPONSE',
                'TEXT_BODY',
                'GRPC_METADATA',
              ],
              comparisons,
            ),
          )
          .default([]),
      })
      .refine(({ serverName, grpcConfig }) => serverName === null || grpcConfig.tls, {
        path: ['serverName'],
        error: 'needs tls',
      }),
    degradedResponseTime: thresholdMs({ defaultMs: 10_000, maxMs: 180_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 20_000, maxMs: 180_000 }),
  }),
);
export type GrpcSpec = z.output<typeof GrpcSpec.schema>;

/** Values of a gRPC monitor that API responses never show. */
export const maskedInGrpc: readonly MaskedValue[] = [
  {
    path: ['request', 'grpcConfig', 'metadata'],
    flags: ['locked'],
    sentTo: [
      ['request', 'url'],
      ['request', 'port'],
      ['request', 'grpcConfig', 'tls'],
    ],
  },
];
