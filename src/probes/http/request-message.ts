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
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (!tokenPattern.test(name)) throw unsendable(`${JSON.stringify(name)} is not a valid header name`);
    if (invalidInValue.test(headers[index + 1] ?? '')) {
      throw unsendable(`the header ${JSON.stringify(name)} has characters that are not allowed in headers`);
    }
    const lowerName = name.toLowerCase();
    if (lowerName === 'transfer-encoding' || lowerName === 'content-length') {
      throw unsendable(`the header ${JSON.stringify(name)} is set from the body and cannot be changed`);
    }
  }
}

/** Returns whether the request asks for a protocol upgrade, which only HTTP/1 supports. */
export function asksForUpgrade(headers: readonly string[]): boolean {
  return hasName(headers, 'upgrade');
}

/** Encodes a message in HTTP/1.1. */
export function http1Bytes({ authority, method, path, headers, body }: RequestMessage): Buffer {
  let text = `${method} ${path} HTTP/1.1\r\n`;
  if (!hasName(headers, 'host')) text += `host: ${authority}\r\n`;
  if (!hasName(headers, 'connection')) text += 'connection: keep-alive\r\n';
  for (let index = 0; index + 1 < headers.length; index += 2) {
    text += `${headers[index] ?? ''}: ${headers[index + 1] ?? ''}\r\n`;
  }
  if (body || methodsWithBody.has(method)) text += `content-length: ${body?.length ?? 0}\r\n`;
  const head = Buffer.from(`${text}\r\n`, 'latin1');
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

/** @param name in lower case. */
function hasName(headers: readonly string[], name: string): boolean {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.length === name.length && headers[index]?.toLowerCase() === name) return true;
  }
  return false;
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
