import { isUtf8 } from 'node:buffer';

/*
 * Header values on the wire are bytes; HTTP gives those above 0x7f no meaning (RFC 9110 section 5.5). The messages and
 * heads of this folder hold them as strings with one character per byte. Text in them is UTF-8, and bytes that are not
 * UTF-8 are shown as Latin-1.
 */

const beyondAscii = /[^\0-\x7f]/;

/** Encodes a text as a header value: one character per UTF-8 byte. */
export function headerOfText(text: string): string {
  return beyondAscii.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** Decodes a header value to text. */
export function textOfHeader(value: string): string {
  return utf8OfHeader(value) ?? value;
}

/** Decodes a header value to text, or returns undefined if its bytes are not UTF-8. */
export function utf8OfHeader(value: string): string | undefined {
  if (!beyondAscii.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
