import { isIP } from 'node:net';
import { z } from 'zod';

/**
 * Normalizes a host as people write it: an address without brackets, in whatever notation (`127.1`, `0x7f.1`,
 * `2130706433` and fullwidth digits are 127.0.0.1), or a name in lower case with international letters in their `xn--`
 * form (WHATWG URL standard, "host parsing").
 *
 * @returns undefined if it is not a host: it contains a scheme, port, path, space or user, or an impossible address.
 */
export function parseHostname(written: string): string | undefined {
  const text = written.trim();
  if (isIP(text) !== 0) return text;
  const bracketed = /^\[(.*)\]$/.exec(text)?.[1];
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : undefined;
  if (/[\s:/?#@\\%[\]]/.test(text)) return undefined;
  const url = URL.parse(`http://${text}/`);
  return url === null || url.hostname === '' ? undefined : url.hostname;
}

/**
 * Normalizes a name for TLS (RFC 6066 section 3), by which a server selects its certificate, as `parseHostname` does.
 *
 * @returns undefined for an address, a wildcard, and text that is not a host name.
 */
export function parseServerName(written: string): string | undefined {
  const name = parseHostname(written)?.replace(/\.$/, '');
  const isName = name !== undefined && isIP(name) === 0 && /^[\w-]{1,63}(\.[\w-]{1,63})*$/.test(name);
  return isName ? name : undefined;
}

/** The host of a check without a URL. */
export const HostnameField = z
  .string()
  .min(1)
  .max(2048)
  // Templates are only filled in at run time.
  .refine((text) => text === '' || text.includes('{{') || parseHostname(text) !== undefined, {
    error: 'must be a host name or IP address, without scheme, port and path',
  })
  .describe('Host name or IP address, without scheme and port');

/** The TLS server name, if it differs from the host. */
export const ServerName = z
  .string()
  .max(253)
  // Templates are only filled in at run time.
  .refine((text) => text.includes('{{') || parseServerName(text) !== undefined, {
    error: 'must be a host name without wildcard, scheme, port and path',
  })
  .nullable()
  .default(null)
  .describe('TLS server name: sent as SNI and compared with the certificate; null: the host');

/** Hosts that receive a `traceparent` header: `*` stands for any characters. */
export const TraceparentHosts = z
  .array(
    z
      .string()
      .min(1)
      .max(253)
      .regex(/^[^\s:/?#@]+$/, 'must be a host name without scheme, port and path; * matches any characters'),
  )
  .max(50)
  .default([])
  .describe(
    'Host names that receive a `traceparent` header, so that their traces begin with this run; `*` matches any characters',
  );

/**
 * Whether the host of a URL is an address with a zone, which URLs must not have (WHATWG URL standard, "host parsing").
 */
export function hasZone(url: string): boolean {
  return /^[a-z]+:\/\/([^/?#@]*@)?\[[^\]]*%/i.test(url);
}

export const zoneInUrl = 'cannot have a zone, as in [fe80::1%eth0]: use an address without one, or a name';

/** URL of an HTTP request (check model 1.2): http or https, or a template whose value decides the scheme. */
export const RequestUrl = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|\{\{)/i, 'must start with http:// or https://, or with a {{template}}')
  .refine((url) => !hasZone(url), { error: zoneInUrl });

/** Whether a TLS server name has a use: the URL or a redirect may use TLS. */
export function isServerNameUsed(request: {
  readonly url: string;
  readonly followRedirects: boolean;
  readonly serverName: string | null;
}): boolean {
  return request.serverName === null || request.followRedirects || !/^http:/i.test(request.url);
}
