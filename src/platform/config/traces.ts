import { z } from 'zod';
import { headerListSetting } from '../outbound/header-list.ts';

/** Settings of the destinations of traces and failure records, with OpenTelemetry's names and meanings. */
export const otlpSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: 'none: no traces are sent' })
    .describe(
      'URL of an OpenTelemetry collector for a trace of each run and a log record of each failure. With HTTP, `/v1/traces` and `/v1/logs` are appended',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: headerListSetting().describe(
    'Request headers for the collector, such as `authorization=Bearer%20…`: values are percent-encoded',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/json', 'http/protobuf', 'grpc'], {
      error: 'must be http/json, http/protobuf or grpc',
    })
    .default('http/json')
    .describe(
      'Protocol of the collector. Most listen for HTTP on port 4318 and for gRPC on 4317. Use https:// for TLS with each protocol',
    ),
  OTEL_EXPORTER_OTLP_TIMEOUT: z.coerce
    .number()
    .int()
    .min(100)
    .max(60_000)
    .default(10_000)
    .describe('Timeout of a request to the collector, in milliseconds'),
  OTEL_SERVICE_NAME: z.string().min(1).max(200).default('picket').describe('`service.name` of the traces'),
};
