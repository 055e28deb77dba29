import { ProbeError } from '../connection/errors.ts';

/** A request, independent of the HTTP version. */
export interface RequestMessage {
  /** Host and port of the URL, for a request without a Host header. */
  readonly authority: string;
  readonly isSecure: boolean;
  readonly method: string;
  /** The request target: a path, or an absolute URL for a proxy that forwards plain HTTP. */
  readonly path: string;
  /** Names and values in turn, sent in this order. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Characters that a value must not contain (RFC 9110 section 5.5), or that Latin-1 cannot encode. */
const invalidInValue = /[^\t\x20-\x7e\x80-\xff]/;
/** Methods that announce an empty body with a Content-Length. */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** Headers of one HTTP/1 connection, forbidden in HTTP/2 (RFC 9113 section 8.2.2). */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'host',
  'http2-settings',
]);

/** @throws ProbeError `request-invalid` if the message cannot be sent. */
export function requireSendable({ headers }: RequestMessage): void {
  for (const [name, value] of pairs(headers)) {
    const shown = JSON.stringify(name);
    if (!tokenPattern.test(name)) throw unsendable(`${shown} is not a valid header name`);
    if (invalidInValue.test(value)) {
      throw unsendable(`the header ${shown} has characters that are not allowed in headers`);
    }
    const lowerName = name.toLowerCase();
    if (lowerName === 'transfer-encoding' || lowerName === 'content-length') {
      throw unsendable(`the header ${shown} is set from the body and cannot be changed`);
    }
  }
}

/** Returns whether the request asks for a protocol upgrade, which only HTTP/1 supports. */
export function asksForUpgrade(headers: readonly string[]): boolean {
  return pairs(headers).some(([name]) => name.toLowerCase() === 'upgrade');
}

/** Encodes a message in HTTP/1.1. */
export function http1Bytes({ authority, method, path, headers, body }: RequestMessage): Buffer {
  const given = pairs(headers);
  const has = (wanted: string) => given.some(([name]) => name.toLowerCase() === wanted);
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!has('host')) lines.push(`host: ${authority}`);
  if (!has('connection')) lines.push('connection: keep-alive');
  for (const [name, value] of given) lines.push(`${name}: ${value}`);
  if (body || methodsWithBody.has(method)) lines.push(`content-length: ${body?.length ?? 0}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body ? Buffer.concat([head, body]) : head;
}

/** Converts the headers of a message to HTTP/2. */
export function http2Headers(message: RequestMessage): Record<string, string> {
  const { authority, isSecure, method, path, body } = message;
  const given = pairs(message.headers);
  const host = given.find(([name]) => name.toLowerCase() === 'host')?.[1];
  const fields = new Map<string, string[]>();
  for (const [name, value] of given) {
    const lowerName = name.toLowerCase();
    if (connectionHeaders.has(lowerName)) continue;
    if (lowerName === 'te' && value.toLowerCase() !== 'trailers') continue;
    fields.set(lowerName, [...(fields.get(lowerName) ?? []), value]);
  }
  if (body || methodsWithBody.has(method)) fields.set('content-length', [String(body?.length ?? 0)]);
  return {
    ':method': method,
    ':scheme': isSecure ? 'https' : 'http',
    ':authority': host ?? authority,
    ':path': path,
    ...Object.fromEntries([...fields].map(([name, values]) => [name, joined(name, values)])),
  };
}

/** Joins repeated headers in one line, as HTTP allows for all list headers. */
function joined(name: string, values: readonly string[]): string {
  return values.join(name === 'cookie' ? '; ' : ', ');
}

function pairs(headers: readonly string[]): (readonly [name: string, value: string])[] {
  const found: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    found.push([headers[index] ?? '', headers[index + 1] ?? '']);
  }
  return found;
}

function unsendable(message: string): ProbeError {
  return new ProbeError('request-invalid', 'firstByte', message);
}
