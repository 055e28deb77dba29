import { isIP } from 'node:net';
import type { ResponseHeaders } from './answer-head.ts';

/** Limits of browsers: the size of one cookie, and the number of cookies of one site. */
const maxCookieLength = 4096;
const maxCookies = 180;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  /** True if only the host that set the cookie receives it. */
  readonly isHostOnly: boolean;
  readonly path: string;
  readonly isSecure: boolean;
}

/**
 * The cookies of one run (RFC 6265 section 5), so that a site that sets a cookie and redirects receives it. Starts
 * empty and ends with the run. It uses no public suffix list: the run itself chose to contact every server in it.
 */
export class CookieJar {
  /** Made with the first cookie. */
  #cookies: Map<string, Cookie> | undefined;

  /** Stores the cookies of a response. */
  store(url: URL, headers: ResponseHeaders, nowMs = Date.now()): void {
    const lines = headers['set-cookie'];
    if (lines === undefined) return;
    for (const line of typeof lines === 'string' ? [lines] : lines) this.#set(url, line, nowMs);
  }

  /**
   * Adds the cookies for a URL to the headers of a request. They follow the request's own cookies and replace those
   * that the server has set again.
   */
  addTo(headers: readonly string[], url: URL): readonly string[] {
    if (!this.#cookies) return headers;
    const found = this.#for(url, this.#cookies);
    if (found.length === 0) return headers;
    const names = new Set(found.map(({ name }) => name));
    const others: string[] = [];
    const own: string[] = [];
    for (let index = 0; index + 1 < headers.length; index += 2) {
      const [name = '', value = ''] = headers.slice(index, index + 2);
      if (name.toLowerCase() !== 'cookie') others.push(name, value);
      else own.push(...value.split(';').filter((pair) => !names.has(nameOf(pair))));
    }
    const pairs = [...own.map((pair) => pair.trim()), ...found.map(({ name, value }) => `${name}=${value}`)];
    return [...others, 'Cookie', pairs.filter((pair) => pair !== '').join('; ')];
  }

  #for(url: URL, cookies: ReadonlyMap<string, Cookie>): Cookie[] {
    return [...cookies.values()]
      .filter(
        ({ domain, isHostOnly, path, isSecure }) =>
          (isHostOnly ? url.hostname === domain : isWithin(url.hostname, domain)) &&
          isUnder(url.pathname, path) &&
          (!isSecure || url.protocol === 'https:'),
      )
      .sort((one, other) => other.path.length - one.path.length);
  }

  #set(url: URL, line: string, nowMs: number): void {
    const [pair = '', ...attributes] = line.split(';');
    const name = nameOf(pair);
    const value = pair.slice(pair.indexOf('=') + 1).trim();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers refuse such cookies
    if (name === '' || name.length + value.length > maxCookieLength || /[\0-\x08\x0a-\x1f\x7f]/.test(line)) {
      return;
    }
    const given = attributesOf(attributes);
    const wanted = (given.get('domain') ?? '').replace(/^\./, '').toLowerCase();
    const isHostOnly = wanted === '' || wanted === url.hostname;
    if (!isHostOnly && !isWithin(url.hostname, wanted)) return;
    const isSecure = given.has('secure');
    if (isSecure && url.protocol !== 'https:') return;
    const path = given.get('path')?.startsWith('/') ? (given.get('path') ?? '/') : directoryOf(url.pathname);
    const domain = isHostOnly ? url.hostname : wanted;
    const key = JSON.stringify([domain, path, name]);
    const cookies = this.#cookies ?? new Map<string, Cookie>();
    this.#cookies = cookies;
    if (isExpired(given, nowMs)) cookies.delete(key);
    else if (cookies.has(key) || cookies.size < maxCookies) {
      cookies.set(key, { name, value, domain, isHostOnly, path, isSecure });
    }
  }
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=');
  return equals < 0 ? '' : pair.slice(0, equals).trim();
}

/** Names are in lower case; the last of repeated attributes counts. */
function attributesOf(attributes: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    attributes.map((attribute) => {
      const equals = attribute.indexOf('=');
      const name = equals < 0 ? attribute : attribute.slice(0, equals);
      return [name.trim().toLowerCase(), equals < 0 ? '' : attribute.slice(equals + 1).trim()];
    }),
  );
}

/** Max-Age overrides Expires; an invalid date is ignored. */
function isExpired(given: ReadonlyMap<string, string>, nowMs: number): boolean {
  const maxAge = given.get('max-age');
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Number(maxAge) <= 0;
  const expires = given.get('expires');
  return expires !== undefined && Date.parse(expires.replaceAll('-', ' ')) <= nowMs;
}

/** Returns whether a host is a domain or a subdomain of it; an address matches only itself. */
function isWithin(hostname: string, domain: string): boolean {
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0;
  return hostname === domain || (!isAddress && domain.includes('.') && hostname.endsWith(`.${domain}`));
}

function isUnder(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

/** The default path of a cookie (RFC 6265 section 5.1.4). */
function directoryOf(pathname: string): string {
  const end = pathname.lastIndexOf('/');
  return end <= 0 ? '/' : pathname.slice(0, end);
}
