import { BlockList } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** Returns a redirect path within this service: any other target would lead visitors elsewhere. */
export function ownPath(wanted: string | null | undefined): string {
  if (!wanted?.startsWith('/') || wanted.length > 2_000) return '/';
  const url = URL.parse(wanted, 'http://own.invalid');
  // Browsers read "/\host" and "//host" as another host; so does this parser.
  if (url?.origin !== 'http://own.invalid') return '/';
  // Once its dots are resolved, "/.//host" begins with two slashes: as a location, another host.
  return `/${url.pathname.replace(/^\/+/, '')}${url.search}`;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a request originates on this machine, without a proxy in between. */
export function isFromThisMachine(request: FastifyRequest): boolean {
  const { remoteAddress = '' } = request.raw.socket;
  const address = remoteAddress.replace(/^::ffff:/, '');
  const isProxied =
    request.headers['x-forwarded-for'] !== undefined || request.headers.forwarded !== undefined;
  return !isProxied && loopback.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/** Whether one of our pages sent a form: browsers report the site of a request's origin. */
export function isFromOwnPage(request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.parse(origin)?.host === host;
}
