import { utf8OfHeader } from '@picket/lib/wire/header-text.ts';
import { ProbeError } from '../connection/errors.ts';
import type { ResponseHeaders } from './answer-head.ts';

/** Maximum number of redirects that are followed. */
export const maxRedirects = 10;

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The parts of a request that a redirect can change. */
export interface RedirectableRequest {
  readonly url: URL;
  readonly method: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
}

/** Returns the redirect target of a response; undefined if it is not a redirect: an empty location is ignored. */
export function redirectLocation(status: number, headers: ResponseHeaders): string | undefined {
  if (!redirectStatuses.has(status)) return undefined;
  const location = headers['location'];
  const first = typeof location === 'object' ? location[0] : location;
  return first?.trim() === '' ? undefined : first;
}

/** Headers that describe the body; they are dropped with it. */
const bodyHeaders: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]);
/** Headers for the first origin only. */
const originHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'host',
]);

/**
 * Builds the request that follows a redirect, by the rules of the Fetch standard (section "HTTP-redirect fetch"): 303,
 * and 301 or 302 after a POST, become a GET without body; headers for the first origin are not sent to another one. The
 * user and password of a URL are kept within its origin, whatever form the location has.
 *
 * @throws ProbeError `redirect-invalid` if the location is not an http or https URL.
 */
export function redirectedRequest(
  request: RedirectableRequest,
  status: number,
  location: string,
): RedirectableRequest {
  const url = URL.parse(decodeLocation(location), request.url.href);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    const shown = location.length > 200 ? `${location.slice(0, 200)}…` : location;
    throw new ProbeError(
      'redirect-invalid',
      'firstByte',
      `${request.url.host} redirected (${status}) to ${JSON.stringify(shown)}, which is not an http or https URL`,
    );
  }
  const { method } = request;
  const becomesGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') ||
    ((status === 301 || status === 302) && method === 'POST');
  const isSameOrigin = url.origin === request.url.origin;
  if (isSameOrigin && url.username === '' && url.password === '') {
    url.username = request.url.username;
    url.password = request.url.password;
  }
  return {
    url,
    method: becomesGet ? 'GET' : method,
    body: becomesGet ? undefined : request.body,
    headers: withoutHeaders(
      request.headers,
      (name) => (becomesGet && bodyHeaders.has(name)) || (!isSameOrigin && originHeaders.has(name)),
    ),
  };
}

/** A raw path is decoded as UTF-8 if valid; otherwise its bytes are percent-encoded unchanged, as browsers do. */
function decodeLocation(location: string): string {
  const text = utf8OfHeader(location);
  if (text !== undefined) return text;
  return location.replace(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

function withoutHeaders(headers: readonly string[], isDropped: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (!isDropped(name.toLowerCase())) kept.push(name, headers[index + 1] ?? '');
  }
  return kept;
}
