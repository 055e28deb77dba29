import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { packageVersion } from '@picket/lib/version.ts';
import { ProbeError } from '../connection/errors.ts';

/** A metadata key and its value as written; values of keys that end in `-bin` are base64. */
export interface MetadataEntry {
  readonly key: string;
  readonly value: string;
}

const keyPattern = /^[0-9a-z_.-]+$/;
const valuePattern = /^[\x20-\x7e]*$/;
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
/** Headers that the call itself determines. */
const reserved = new Set(['te', 'content-type', 'user-agent', 'host', 'connection', 'content-length']);

/** Builds the headers of a call. @throws ProbeError `request-invalid` for metadata that cannot be sent. */
export function callHeaders(call: {
  readonly authority: string;
  readonly isSecure: boolean;
  readonly path: string;
  readonly metadata: readonly MetadataEntry[];
  readonly timeoutMs: number;
}): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {
    ':method': 'POST',
    ':scheme': call.isSecure ? 'https' : 'http',
    ':authority': call.authority,
    ':path': call.path,
    te: 'trailers',
    'content-type': 'application/grpc',
    'user-agent': `Picket/${packageVersion()}`,
    'grpc-accept-encoding': 'identity,deflate,gzip',
    'grpc-timeout': `${Math.min(99_999_999, Math.max(1, Math.ceil(call.timeoutMs)))}m`,
  };
  for (const { key, value } of call.metadata) {
    const name = key.trim().toLowerCase();
    requireSendable(name, value);
    const given = headers[name];
    headers[name] = given === undefined ? value : [given, value].flat();
  }
  return headers;
}

function requireSendable(name: string, value: string): void {
  const shown = JSON.stringify(name);
  if (!keyPattern.test(name)) {
    throw unsendable(
      `${shown} is not a valid metadata key: only letters, digits, "-", "_" and "." are allowed`,
    );
  }
  if (reserved.has(name) || name.startsWith('grpc-')) {
    throw unsendable(`the metadata ${shown} is set by the call itself and cannot be changed`);
  }
  if (name.endsWith('-bin') ? !base64.test(value) : !valuePattern.test(value)) {
    const wanted = name.endsWith('-bin')
      ? 'is not in base64'
      : 'has characters that are not allowed in metadata';
    throw unsendable(`the value of the metadata ${shown} ${wanted}`);
  }
}

function unsendable(message: string): ProbeError {
  return new ProbeError('request-invalid', 'firstByte', message);
}

/** Headers that belong to gRPC itself and are not metadata of a service. */
const own = new Set(['grpc-status', 'grpc-message', 'grpc-encoding', 'grpc-accept-encoding']);

/** Returns the metadata in received headers or trailers. */
export function receivedMetadata(headers: IncomingHttpHeaders): MetadataEntry[] {
  return Object.entries(headers).flatMap(([key, value]) => {
    if (key.startsWith(':') || own.has(key) || value === undefined) return [];
    const values = typeof value === 'string' ? [value] : value;
    return values.map((one) => ({ key, value: one }));
  });
}
