import type { Socket } from 'node:net';
import { ProbeError } from './errors.ts';

/** A forward proxy from its URL. */
export interface ForwardProxy {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** Value of Proxy-Authorization from the URL's user and password. */
  readonly authorization: string | undefined;
}

const maxAnswerBytes = 16 * 1024;
const endOfHead = Buffer.from('\r\n\r\n');

/** The proxy a URL describes; its port defaults to the one of its scheme. */
export function proxyFromUrl(url: URL): ForwardProxy {
  const isSecure = url.protocol === 'https:';
  return {
    isSecure,
    hostname: bareHostname(url),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    authorization: basicAuthorization(url),
  };
}

/** Host of a URL without the brackets of an IPv6 literal. */
export function bareHostname(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** `Authorization` value for the user and password of a URL, if it has any. */
export function basicAuthorization(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const credentials = `${decodePart(url.username)}:${decodePart(url.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // A lone % is legal in a URL's password; it is then meant literally.
    if (error instanceof URIError) return text;
    throw error;
  }
}

/**
 * Asks a proxy, over a socket connected to it, for a tunnel to `authority` (RFC 9110 section 9.3.6). Calls
 * back once: without an error the socket now is a connection to the target.
 *
 * A proxy that refuses has its reason in the target: proxies answer 502, 503, 504, 500, 404 or 403 for one that
 * they cannot reach. Only 407 is about the proxy's own terms.
 */
export function openTunnel(
  socket: Socket,
  tunnel: { readonly proxy: ForwardProxy; readonly authority: string },
  callback: (error: Error | null, isAnswered: boolean) => void,
): void {
  const { proxy, authority } = tunnel;
  const proxyName = `${proxy.hostname}:${proxy.port}`;
  let received: Buffer = Buffer.alloc(0);

  const finish = (error: Error | null, isAnswered: boolean) => {
    socket.off('readable', onReadable);
    socket.off('end', onEnd);
    socket.off('error', onError);
    callback(error, isAnswered);
  };
  const onError = (error: Error) => finish(error, false);
  const fail = (message: string) => finish(new ProbeError('proxy-failed', 'proxy', message), false);
  const onEnd = () =>
    fail(`proxy ${proxyName} closed the connection instead of answering CONNECT ${authority}`);
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const end = received.indexOf(endOfHead);
    if (end < 0) {
      if (received.length > maxAnswerBytes) fail(`proxy ${proxyName} answered CONNECT with endless headers`);
      return;
    }
    const statusLine = received.subarray(0, received.indexOf('\r\n')).toString('latin1');
    const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(statusLine);
    if (!match) return fail(`proxy ${proxyName} did not answer CONNECT with HTTP`);
    const status = Number(match[1]);
    if (status < 200 || status >= 300) {
      const message = `proxy ${proxyName} answered ${`${status} ${match[2] ?? ''}`.trim()} to CONNECT ${authority}`;
      return finish(
        new ProbeError(status === 407 ? 'proxy-failed' : 'host-unreachable', 'proxy', message),
        true,
      );
    }
    if (received.length > end + endOfHead.length) {
      return fail(`proxy ${proxyName} sent data before the tunnel to ${authority} was used`);
    }
    finish(null, true);
  };

  socket.on('readable', onReadable);
  socket.on('end', onEnd);
  socket.on('error', onError);
  const authorization = proxy.authorization ? `Proxy-Authorization: ${proxy.authorization}\r\n` : '';
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
}
