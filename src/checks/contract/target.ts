import { isIP } from 'node:net';
import { z } from 'zod';

/**
 * A host as people write it, in the one form that everything else uses: an address without brackets, however
 * it was spelled (`127.1`, `0x7f.1`, `2130706433` and fullwidth digits are 127.0.0.1), or a name in lower
 * case with international letters in their `xn--` form (WHATWG URL standard, "host parsing").
 *
 * @returns undefined when it is no host: it has a scheme, port, path, space or user in it, or an impossible
 *   address.
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

/** Where an HTTP request goes (check model 1.2): http or https, or a template whose value decides that. */
export const RequestUrl = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|\{\{)/i, 'must start with http:// or https://, or with a {{template}}');
