import type { MethodDefinition } from '@grpc/grpc-js';
import { fromJSON, type ServiceDefinition } from '@grpc/proto-loader';

const field = (id: number, type: string) => ({ id, type });
const many = (id: number, type: string) => ({ id, type, rule: 'repeated' });
const message = (fields: object, nested?: object) => ({ fields, ...(nested ? { nested } : {}) });
const attributes = (id: number) => many(id, 'common.v1.KeyValue');
const version = (nested: object) => ({ nested: { v1: { nested } } });

/** The messages of a signal: its resource, its scopes, and their items. */
const signal = (plural: string, items: string, item: string, itemMessage: object) => ({
  [`Resource${plural}`]: message({
    resource: field(1, 'resource.v1.Resource'),
    [`scope${plural}`]: many(2, `Scope${plural}`),
  }),
  [`Scope${plural}`]: message({
    scope: field(1, 'common.v1.InstrumentationScope'),
    [items]: many(2, item),
  }),
  [item]: itemMessage,
});

const service = (name: string, what: string, type: string) =>
  version({
    [`Export${name}ServiceRequest`]: message({ [`resource${what}`]: many(1, type) }),
    [`Export${name}ServiceResponse`]: message({}),
    [`${name}Service`]: {
      methods: {
        Export: {
          requestType: `Export${name}ServiceRequest`,
          responseType: `Export${name}ServiceResponse`,
        },
      },
    },
  });

/** The parts of opentelemetry/proto that Picket sends. */
const proto = {
  common: version({
    KeyValue: message({ key: field(1, 'string'), value: field(2, 'AnyValue') }),
    AnyValue: {
      oneofs: { value: { oneof: ['stringValue', 'intValue'] } },
      fields: { stringValue: field(1, 'string'), intValue: field(3, 'int64') },
    },
    InstrumentationScope: message({ name: field(1, 'string'), version: field(2, 'string') }),
  }),
  resource: version({ Resource: message({ attributes: attributes(1) }) }),
  trace: version(
    signal(
      'Spans',
      'spans',
      'Span',
      message(
        {
          ...{ traceId: field(1, 'bytes'), spanId: field(2, 'bytes'), parentSpanId: field(4, 'bytes') },
          ...{ name: field(5, 'string'), kind: field(6, 'int32') },
          ...{ startTimeUnixNano: field(7, 'fixed64'), endTimeUnixNano: field(8, 'fixed64') },
          ...{ attributes: attributes(9), status: field(15, 'Status') },
        },
        { Status: message({ message: field(2, 'string'), code: field(3, 'int32') }) },
      ),
    ),
  ),
  logs: version(
    signal(
      'Logs',
      'logRecords',
      'LogRecord',
      message({
        ...{ timeUnixNano: field(1, 'fixed64'), severityNumber: field(2, 'int32') },
        ...{ severityText: field(3, 'string'), body: field(5, 'common.v1.AnyValue') },
        ...{ attributes: attributes(6), traceId: field(9, 'bytes'), spanId: field(10, 'bytes') },
      }),
    ),
  ),
  collector: {
    nested: {
      trace: service('Trace', 'Spans', 'opentelemetry.proto.trace.v1.ResourceSpans'),
      logs: service('Logs', 'Logs', 'opentelemetry.proto.logs.v1.ResourceLogs'),
    },
  },
};

const root = { nested: { opentelemetry: { nested: { proto: { nested: proto } } } } };
const definitions = fromJSON(root as unknown as Parameters<typeof fromJSON>[0], { longs: String });

/** The OTLP services, with their methods as gRPC builds and parses them. */
export const otlpServices = {
  traces: definitions['opentelemetry.proto.collector.trace.v1.TraceService'] as ServiceDefinition,
  logs: definitions['opentelemetry.proto.collector.logs.v1.LogsService'] as ServiceDefinition,
};

/** Converts a message to OTLP's JSON, where ids are hex. */
export function asOtlpJson(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(asOtlpJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asOtlpJson(inner)]));
}

/** Decodes the request of a service's only method. */
export function readOtlp(signalName: keyof typeof otlpServices, bytes: Buffer): unknown {
  const { Export } = otlpServices[signalName] as unknown as Record<
    'Export',
    MethodDefinition<object, object>
  >;
  return asOtlpJson(Export.requestDeserialize(bytes));
}
