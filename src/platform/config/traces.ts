import { z } from 'zod';
import { headerListSetting } from '../outbound/header-list.ts';

/** Where traces and records of failures go: names and meanings are those that OpenTelemetry gives them. */
export const otlpSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: 'none: no traces are sent' })
    .describe(
      'Collector of OpenTelemetry that gets a trace of each run, and a record of each failure. Over HTTP `/v1/traces` and `/v1/logs` are added',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: headerListSetting().describe(
    'Headers for the collector, such as `authorization=Bearer%20…`: values are percent-encoded',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/json', 'http/protobuf', 'grpc'], {
      error: 'must be http/json, http/protobuf or grpc',
    })
    .default('http/json')
    .describe(
      'How the collector is spoken to. Most take HTTP at port 4318 and gRPC at 4317; https:// is TLS for each',
    ),
  OTEL_EXPORTER_OTLP_TIMEOUT: z.coerce
    .number()
    .int()
    .min(100)
    .max(60_000)
    .default(10_000)
    .describe('Milliseconds that a request to the collector may take'),
  OTEL_SERVICE_NAME: z.string().min(1).max(200).default('picket').describe('`service.name` of the traces'),
};
