import type { AnswerReading } from '@picket/channels/contract/channel.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { headersOf } from '@picket/platform/outbound/header-list.ts';
import { type Delivery, OutboundHttp, type WholeAnswer } from '@picket/platform/outbound/outbound-http.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { type OtlpBatch, otlpBinary, otlpJson } from './otlp-binary.ts';

export type CollectorSettings = Pick<
  ServiceConfig,
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_HEADERS'
  | 'OTEL_EXPORTER_OTLP_PROTOCOL'
  | 'OTEL_EXPORTER_OTLP_TIMEOUT'
  | 'EGRESS_ALLOW'
  | 'EGRESS_DENY'
>;

type Signal = OtlpBatch['items']['signal'];

/** The gRPC methods that accept the signals. */
const methods: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
};

/** An OpenTelemetry collector and its protocol: HTTP with JSON or protobuf, or gRPC. */
export class Collector {
  readonly #settings: CollectorSettings;
  readonly #headers: readonly (readonly [string, string])[];
  readonly #http: OutboundHttp;

  constructor(settings: CollectorSettings) {
    const { EGRESS_ALLOW: allow, EGRESS_DENY: deny, OTEL_EXPORTER_OTLP_TIMEOUT: timeoutMs } = settings;
    this.#settings = settings;
    this.#headers = headersOf(settings.OTEL_EXPORTER_OTLP_HEADERS);
    // The operator chose the collector, which often runs next to the service.
    const policy = createEgressPolicy({ allow, deny, ownPorts: [], isLoopbackClosed: false });
    const isHttp2 = settings.OTEL_EXPORTER_OTLP_PROTOCOL === 'grpc';
    this.#http = new OutboundHttp(policy, { timeoutMs, isHttp2 });
  }

  send(batch: OtlpBatch): Promise<Delivery> {
    const { signal } = batch.items;
    const endpoint = (this.#settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? '').replace(/\/+$/, '');
    const rules = { areRefusalsPassing: false };
    switch (this.#settings.OTEL_EXPORTER_OTLP_PROTOCOL) {
      case 'http/json':
        return this.#post(`${endpoint}/v1/${signal}`, 'application/json', otlpJson(batch), rules);
      case 'http/protobuf':
        return this.#post(`${endpoint}/v1/${signal}`, 'application/x-protobuf', otlpBinary(batch), rules);
      case 'grpc': {
        const message = inFrame(otlpBinary(batch));
        // The path of a method is relative to the root of its server.
        const url = new URL(methods[signal], endpoint).href;
        return this.#post(url, 'application/grpc', message, { ...rules, read: readCall }, [
          ['te', 'trailers'],
        ]);
      }
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #post(
    url: string,
    contentType: string,
    body: string | Uint8Array,
    rules: Parameters<OutboundHttp['send']>[1],
    more: readonly (readonly [string, string])[] = [],
  ): Promise<Delivery> {
    const headers = [['content-type', contentType] as const, ...more, ...this.#headers];
    return this.#http.send({ url, method: 'POST', headers, body }, rules);
  }
}

/** Frames an uncompressed gRPC message: a flag, its length, its bytes. */
function inFrame(message: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

/** Retryable gRPC statuses, as listed in the OTLP specification. */
const passingCalls: ReadonlySet<number> = new Set([1, 4, 10, 11, 14, 15]);
const resourceExhausted = 8;

/** Reads the result of a call: its status is in the trailers, or in the headers without a body. */
export function readCall({ statusCode, fields }: WholeAnswer): AnswerReading {
  if (statusCode !== 200) return {};
  const [status] = [fields['grpc-status']].flat();
  if (status === '0') return {};
  if (status === undefined) return { error: 'the response is not a gRPC response', isRetryable: false };
  const code = Number(status);
  const [said = ''] = [fields['grpc-message']].flat();
  // A server that is only overloaded says when to retry.
  const [details = ''] = [fields['grpc-status-details-bin']].flat();
  const isOnlyFull =
    code === resourceExhausted && Buffer.from(details, 'base64').includes('google.rpc.RetryInfo');
  return {
    error: `gRPC status ${status}${said === '' ? '' : `: ${percentDecoded(said)}`}`,
    isRetryable: isOnlyFull || passingCalls.has(code),
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Some servers do not encode their messages.
    return text;
  }
}
