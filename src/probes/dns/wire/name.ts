import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const maxNameLength = 253;
const maxLabelLength = 63;

/**
 * Converts text to a domain name for queries: ASCII, without a trailing dot ("." is the root). Names in other scripts
 * are converted as browsers do (UTS 46). Returns undefined if the text cannot be a name: an empty or too long label, a
 * space, a backslash, or more than 253 characters (RFC 1035 section 2.3.4). Underscores and `*` are valid, for service
 * names and wildcards.
 */
export function queryName(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '.') return '.';
  const ascii = isAscii(trimmed) ? trimmed : domainToASCII(trimmed);
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  if (name === '' || name.length > maxNameLength || !/^[!-[\]-~]+$/.test(name)) return undefined;
  const areLabelsFit = name.split('.').every((label) => label !== '' && label.length <= maxLabelLength);
  return areLabelsFit ? name : undefined;
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/**
 * Formats a name for display: with a trailing dot, spaces and control characters as `\DDD` (RFC 4343 section 2.1), and
 * special characters of zone files escaped by a backslash.
 */
export function absoluteName(name: string): string {
  const shown = (/^[!-~]*$/.test(name) ? name : escapedControls(name)).replaceAll(/(?<!\\)["$();@]/g, '\\$&');
  return shown.endsWith('.') ? shown : `${shown}.`;
}

function escapedControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc} ]/gu,
    (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`,
  );
}

/** Compares two names, ignoring case (RFC 4343). */
export function isSameName(left: string, right: string): boolean {
  return absoluteName(left).toLowerCase() === absoluteName(right).toLowerCase();
}

/** Returns the PTR name of an address; undefined if the text is not an address. */
export function reverseName(address: string): string | undefined {
  const family = isIP(address);
  if (family === 4) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  if (family !== 6 || address.includes('%')) return undefined;
  const digits = ipv6Groups(address).map((group) => group.toString(16).padStart(4, '0'));
  return `${[...digits.join('')].reverse().join('.')}.ip6.arpa`;
}

/** The eight 16-bit groups of a valid IPv6 address. */
function ipv6Groups(address: string): number[] {
  // The URL parser converts a dotted tail to hexadecimal.
  const spelled = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = spelled.split('::');
  const groups = (text: string | undefined) =>
    text ? text.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const first = groups(head);
  const last = groups(tail);
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/**
 * Formats the sixteen bytes of an IPv6 address (RFC 5952): the longest run of zeros is omitted, and an embedded IPv4
 * address is dotted, as in `inet_ntop`.
 */
export function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index));
  const isZeroUntil = (count: number) => groups.slice(0, count).every((group) => group === 0);
  const dotted = () => [...bytes.subarray(12, 16)].join('.');
  if (isZeroUntil(5) && groups[5] === 0xffff) return `::ffff:${dotted()}`;
  if (isZeroUntil(6) && groups[6] !== 0) return `::${dotted()}`;
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]/`).hostname.slice(1, -1);
}
