import { anchorsIn } from './anchors.ts';
import { Base64Unit, LineBreak } from './base64-unit.ts';
import { ExactShape, type SecretShape, TolerantShape } from './shape.ts';
import { bodySpellings } from './spellings.ts';

/** Shorter Base64 would match by chance. */
const minBase64Length = 6;
const offsets = [0, 1, 2];

/**
 * The Base64 of a text that contains the secret depends on the secret's offset within a group of three bytes: for each
 * of the three cases, the characters that depend on the secret alone. Covers escaped spellings, too: a JSON or form
 * body contains the secret escaped before it is encoded.
 */
export function base64Shapes(secret: string): SecretShape[] {
  const inners = new Set<string>();
  const add = (bytes: Buffer) => {
    for (const offset of offsets) inners.add(innerBase64(bytes, offset));
  };
  for (const spelling of bodySpellings(secret)) add(Buffer.from(spelling));
  // As browsers' `btoa` encodes it.
  if (/[\x80-\xff]/.test(secret) && !/[^\0-\xff]/.test(secret)) add(Buffer.from(secret, 'latin1'));
  return [...inners].flatMap(innerShapes);
}

/** The same for a text in UTF-16, and for a text that is already Base64. */
export function rareBase64Shapes(secret: string): SecretShape[] {
  const inners = new Set<string>();
  const utf16 = Buffer.from(secret, 'utf16le');
  for (const bytes of [utf16, Buffer.from(utf16).swap16()]) {
    for (const offset of offsets) inners.add(innerBase64(bytes, offset));
  }
  for (const first of offsets) {
    const once = Buffer.from(innerBase64(Buffer.from(secret), first));
    for (const second of offsets) inners.add(innerBase64(once, second));
  }
  return [...inners].flatMap(innerShapes);
}

function innerShapes(inner: string): SecretShape[] {
  if (inner.length < minBase64Length) return [];
  const anchors = anchorsIn(inner);
  if (anchors.length === 0) {
    const forUrls = inner.replaceAll('+', '-').replaceAll('/', '_');
    return [new ExactShape(Buffer.from(inner)), new ExactShape(Buffer.from(forUrls))];
  }
  const units = Array.from(inner, (character, index) => new Base64Unit(character, index === 0));
  return anchors.map(({ start, text }, index) => {
    const before = start === 0 ? [] : [...units.slice(0, start), new LineBreak()];
    const covered = index === 0 ? undefined : Buffer.from(inner.slice(anchors[0]?.start, start));
    return new TolerantShape(before, Buffer.from(text), units.slice(start + text.length), covered);
  });
}

/** The part of the Base64 of a text that depends on these bytes alone, if `offset` (0 to 2) bytes precede them. */
export function innerBase64(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  // Characters at the ends share bits with neighbouring bytes: leave them out.
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}
