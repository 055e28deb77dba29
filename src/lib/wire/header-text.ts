import { isUtf8 } from 'node:buffer';

/*
 * Values of headers on the wire are bytes; HTTP gives those above 0x7f no meaning (RFC 9110 section 5.5). Here they
 * are strings with a character for each byte, in the messages and heads of this folder. Text is UTF-8 in them, and
 * bytes that are not UTF-8 are shown as Latin-1.
 */

const beyondAscii = /[^\0-\x7f]/;

/** A text as the value of a header: the bytes of its UTF-8. */
export function headerOfText(text: string): string {
  return beyondAscii.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** The value of a header as text. */
export function textOfHeader(value: string): string {
  return utf8OfHeader(value) ?? value;
}

/** The value of a header as text, or undefined where its bytes are not UTF-8. */
export function utf8OfHeader(value: string): string | undefined {
  if (!beyondAscii.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
