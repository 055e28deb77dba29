import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { OtlpAttribute, OtlpLog, OtlpSpan } from './run-spans.ts';

/** The content of one request: spans or log records, and their resource. */
export interface OtlpBatch {
  readonly resource: readonly OtlpAttribute[];
  readonly scope: { readonly name: string; readonly version: string };
  readonly items:
    | { readonly signal: 'traces'; readonly spans: readonly OtlpSpan[] }
    | { readonly signal: 'logs'; readonly records: readonly OtlpLog[] };
}

/** A batch as OTLP JSON. */
export function otlpJson({ resource: attributes, scope, items }: OtlpBatch): string {
  const resource = { attributes };
  return JSON.stringify(
    items.signal === 'traces'
      ? { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: items.spans }] }] }
      : { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: items.records }] }] },
  );
}

/**
 * The same as protobuf. Field numbers are those of `opentelemetry/proto/…/v1/*.proto`; requests for traces and logs
 * differ only in their innermost messages.
 */
export function otlpBinary({ resource, scope, items }: OtlpBatch): Uint8Array {
  const writer = new BinaryWriter();
  inMessage(writer, 1, () => {
    inMessage(writer, 1, () => writeAttributes(writer, 1, resource));
    inMessage(writer, 2, () => {
      inMessage(writer, 1, () => {
        writeText(writer, 1, scope.name);
        writeText(writer, 2, scope.version);
      });
      if (items.signal === 'traces') {
        for (const span of items.spans) inMessage(writer, 2, () => writeSpan(writer, span));
      } else {
        for (const record of items.records) inMessage(writer, 2, () => writeLog(writer, record));
      }
    });
  });
  return writer.finish();
}

function writeSpan(writer: BinaryWriter, span: OtlpSpan): void {
  writeId(writer, 1, span.traceId);
  writeId(writer, 2, span.spanId);
  if (span.parentSpanId !== undefined) writeId(writer, 4, span.parentSpanId);
  writeText(writer, 5, span.name);
  writer.tag(6, WireType.Varint).int32(span.kind);
  writer.tag(7, WireType.Bit64).fixed64(span.startTimeUnixNano);
  writer.tag(8, WireType.Bit64).fixed64(span.endTimeUnixNano);
  writeAttributes(writer, 9, span.attributes);
  const { code, message } = span.status;
  inMessage(writer, 15, () => {
    if (message !== undefined) writeText(writer, 2, message);
    writer.tag(3, WireType.Varint).int32(code);
  });
}

function writeLog(writer: BinaryWriter, record: OtlpLog): void {
  writer.tag(1, WireType.Bit64).fixed64(record.timeUnixNano);
  writer.tag(2, WireType.Varint).int32(record.severityNumber);
  writeText(writer, 3, record.severityText);
  inMessage(writer, 5, () => writeText(writer, 1, record.body.stringValue));
  writeAttributes(writer, 6, record.attributes);
  writeId(writer, 9, record.traceId);
  writeId(writer, 10, record.spanId);
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: readonly OtlpAttribute[]): void {
  for (const { key, value } of attributes) {
    inMessage(writer, field, () => {
      writeText(writer, 1, key);
      inMessage(writer, 2, () => {
        if ('stringValue' in value) writeText(writer, 1, value.stringValue);
        else writer.tag(3, WireType.Varint).int64(value.intValue);
      });
    });
  }
}

function inMessage(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.tag(field, WireType.LengthDelimited).string(text);
}

function writeId(writer: BinaryWriter, field: number, hex: string): void {
  writer.tag(field, WireType.LengthDelimited).bytes(Buffer.from(hex, 'hex'));
}
