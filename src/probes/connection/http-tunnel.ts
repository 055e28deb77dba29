import { hostAndPort } from '../address.ts';
import { Malformed, type Preamble } from '../preamble/preamble.ts';
import { ProbeError } from './errors.ts';
import type { Tunnel } from './forward-proxy.ts';

/**
 * Requests a tunnel from an HTTP proxy (RFC 9110 section 9.3.6).
 *
 * Most refusals are about the target: proxies respond with 502, 503, 504, 500, 404 or 403 if they cannot reach it. Only
 * 407 concerns access to the proxy itself.
 *
 * @throws ProbeError if the proxy refuses; Malformed if it does not speak HTTP
 */
export function* httpTunnel({ proxy, hostname, port, onPending }: Tunnel): Preamble {
  const authority = hostAndPort(hostname, port);
  const authorization = proxy.authorization ? `Proxy-Authorization: ${proxy.authorization}\r\n` : '';
  onPending(true);
  const request = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`;
  yield { kind: 'say', data: Buffer.from(request) };
  const head: Buffer = yield { kind: 'mark', marks: ['\r\n\r\n'] };
  const statusLine = head.subarray(0, head.indexOf('\r\n')).toString('latin1');
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(statusLine);
  if (!match) throw new Malformed('its response is not HTTP');
  const status = Number(match[1]);
  if (status >= 200 && status < 300) return;
  onPending(false);
  const answer = `${status} ${match[2] ?? ''}`.trim();
  const proxyName = hostAndPort(proxy.hostname, proxy.port);
  const message = `proxy ${proxyName} answered ${answer} to CONNECT ${authority}`;
  const kind = status === 407 ? 'proxy-failed' : 'host-unreachable';
  throw new ProbeError(kind, 'proxy', message, undefined, {
    details: { host: hostname, port, proxy: proxyName, proxyStatus: status, proxyStatusText: match[2] },
  });
}
