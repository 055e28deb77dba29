import { constants, type IncomingHttpHeaders } from 'node:http2';

/** The gRPC status codes, by number. */
export const grpcStatusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
export type GrpcStatusName = (typeof grpcStatusNames)[number];

/** Status of a finished call. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
  /** False if no server sent it and the client derived the code. */
  readonly isFromServer: boolean;
}

/** The status that a client derives from an event without a server status. */
export function ownStatus(name: GrpcStatusName, message: string): GrpcStatus {
  return { code: grpcStatusNames.indexOf(name), message, isFromServer: false };
}

/** Returns the name of a code, or the number itself if the code is unknown. */
export function grpcStatusName(code: number): string {
  return grpcStatusNames[code] ?? String(code);
}

/** Maximum length of a status message; servers may put whole stack traces there. */
const maxMessageLength = 4096;

/** Reads the status from the trailers of a response; undefined if absent. */
export function statusOfTrailers(trailers: IncomingHttpHeaders): GrpcStatus | undefined {
  const written = firstValue(trailers['grpc-status']);
  if (written === undefined) return undefined;
  const message = percentDecoded(firstValue(trailers['grpc-message']) ?? '').slice(0, maxMessageLength);
  if (!/^\d{1,9}$/.test(written)) {
    return ownStatus('UNKNOWN', `the grpc-status ${JSON.stringify(written.slice(0, 40))} is not a number`);
  }
  return { code: Number(written), message, isFromServer: true };
}

/** Maps an HTTP status of a proxy or of a server without gRPC. */
export function statusOfHttp(httpStatus: number): GrpcStatus {
  const message = `the response has HTTP status ${httpStatus} and no gRPC status`;
  return ownStatus(byHttpStatus[httpStatus] ?? 'UNKNOWN', message);
}

const byHttpStatus: Readonly<Record<number, GrpcStatusName>> = {
  400: 'INTERNAL',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'UNIMPLEMENTED',
  429: 'UNAVAILABLE',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** Maps the code of a stream reset. */
export function statusOfReset(code: number, message: string): GrpcStatus {
  return ownStatus(byResetCode[code] ?? 'INTERNAL', message);
}

const byResetCode: Readonly<Record<number, GrpcStatusName>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'UNAVAILABLE',
  [constants.NGHTTP2_CANCEL]: 'CANCELLED',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'RESOURCE_EXHAUSTED',
  [constants.NGHTTP2_INADEQUATE_SECURITY]: 'PERMISSION_DENIED',
};

function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

/** Decodes percent-encoded UTF-8; invalid sequences stay unchanged. */
export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: Buffer[] = [];
  for (const [part] of text.matchAll(/%[0-9a-fA-F]{2}|%|[^%]+/g)) {
    bytes.push(
      part.length === 3 && part.startsWith('%') ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part),
    );
  }
  return Buffer.concat(bytes).toString('utf8');
}
