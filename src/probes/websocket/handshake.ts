import { createHash, randomBytes } from 'node:crypto';
import type { ResponseHead, ResponseHeaders } from '../http/answer-head.ts';

/** Appended to the key before the server hashes it (RFC 6455 section 1.3). */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export function newKey(): string {
  return randomBytes(16).toString('base64');
}

/** The headers of the upgrade, names and values in turn. Compression is not offered. */
export function upgradeHeaders(key: string, subprotocols: readonly string[]): string[] {
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  headers.push('Sec-WebSocket-Version', '13', 'Sec-WebSocket-Key', key);
  if (subprotocols.length > 0) headers.push('Sec-WebSocket-Protocol', subprotocols.join(', '));
  return headers;
}

/**
 * Returns the problem with a response of status 101 (RFC 6455 section 4.1, as interpreted by browsers); undefined if
 * the handshake succeeded.
 */
export function handshakeProblem(
  { headers }: Pick<ResponseHead, 'headers'>,
  { key, subprotocols }: { readonly key: string; readonly subprotocols: readonly string[] },
): string | undefined {
  if (!has(headers, 'upgrade', 'websocket')) return 'the header Upgrade: websocket is missing';
  if (!has(headers, 'connection', 'upgrade')) return 'the header Connection: Upgrade is missing';
  const [accept, ...others] = values(headers, 'sec-websocket-accept');
  if (accept === undefined) return 'the header Sec-WebSocket-Accept is missing';
  const wanted = createHash('sha1').update(`${key}${acceptSuffix}`).digest('base64');
  if (accept !== wanted || others.length > 0) return 'its Sec-WebSocket-Accept does not match the key';
  const extensions = values(headers, 'sec-websocket-extensions').join(', ');
  if (extensions !== '') return `it accepts extensions that were not offered: ${extensions.slice(0, 100)}`;
  const chosen = values(headers, 'sec-websocket-protocol');
  if (chosen.length === 0) {
    return subprotocols.length > 0
      ? `it accepts none of the subprotocols ${subprotocols.join(', ')}`
      : undefined;
  }
  const [subprotocol = ''] = chosen;
  if (chosen.length > 1 || !subprotocols.includes(subprotocol)) {
    return `it selects the subprotocol ${JSON.stringify(chosen.join(', ').slice(0, 100))}, which was not offered`;
  }
  return undefined;
}

/** The negotiated subprotocol of a valid handshake; null without one. */
export function agreedSubprotocol({ headers }: Pick<ResponseHead, 'headers'>): string | null {
  return values(headers, 'sec-websocket-protocol')[0] ?? null;
}

function has(headers: ResponseHeaders, name: string, token: string): boolean {
  return values(headers, name).some((value) =>
    value.split(',').some((one) => one.trim().toLowerCase() === token),
  );
}

function values(headers: ResponseHeaders, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
