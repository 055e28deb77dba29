import type { SecretRange, SecretShape } from '@picket/checks/secrets/shapes/shape.ts';

/**
 * How files begin in Base64: archives, compressed texts, images, and formats that cannot be searched. Each is as long
 * as the format allows, because short anchors slow the search; other files are found by a key or a URL that announces
 * them.
 */
const signatures = [
  // zip, by the version that its first member requires
  'UEsDBAoA',
  'UEsDBBQA',
  'UEsDBC0A',
  'UEsDBDMA',
  'UEsDBD8A',
  'H4sIAAAA', // gzip
  'iVBORw0KGgo', // PNG
  'JVBERi0x', // PDF
  'QlpoOTFBWSZT', // bzip2
  '/Td6WFoA', // xz
  'N3q8rycc', // 7z
  'UmFyIRoH', // RAR
];
/** Keys under which JSON carries bytes: attachments, bodies, entries of HAR files, frames. */
const keys = ['body', 'data', 'text', 'content', 'base64', 'payload', 'bytes', 'buffer'];
/** Anchors of embedded data: the quote after a key, or the comma of a data URL. */
const keyAnchors = keys.flatMap((key) => [`"${key}":`, `"${key}\\":`]);
const dataUrl = ';base64,';
const afterKey = /^\s{0,8}\\{0,7}"/;
/** A text of letters alone does not count as Base64 if only its key suggests it. */
const minKeyedLength = 24;
const minLength = 12;

const alphabet = new Uint8Array(256);
for (const one of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')
  alphabet[one.charCodeAt(0)] = 1;
const lineBreaks: ReadonlySet<number> = new Set([10, 13, 92]);
const padding = '='.charCodeAt(0);
const lowerN = 0x6e;
const lowerR = 0x72;
const slash = 0x2f;
const backslash = 0x5c;

/** Anchors of Base64 runs, as shapes that locate the start of the run. */
class RunStart implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes: number;
  readonly #isKey: boolean;

  constructor(anchor: string) {
    this.anchor = Buffer.from(anchor);
    this.#isKey = anchor.endsWith(':');
    this.reachForwardBytes = anchor.length + 16;
  }

  /** An empty range at the start of the run. */
  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const from = anchorStart + this.anchor.length;
    if (this.#isKey) {
      const quote = afterKey.exec(bytes.toString('latin1', from, from + 16));
      if (!quote) return [];
      const start = from + quote[0].length;
      return [{ start, end: start }];
    }
    if (this.anchor.equals(Buffer.from(dataUrl))) return [{ start: from, end: from }];
    // In the middle of other Base64 it is a coincidence.
    return isOfRun(bytes[anchorStart - 1]) ? [] : [{ start: anchorStart, end: anchorStart }];
  }
}

export function runStarts(): SecretShape[] {
  return [...signatures, dataUrl, ...keyAnchors].map((anchor) => new RunStart(anchor));
}

/** How far before the end of a chunk a run may begin that is recognized only with the next chunk. */
export const startReachBytes = 32;

function isOfRun(byte: number | undefined): boolean {
  return byte !== undefined && alphabet[byte] === 1;
}

/** A run of Base64 characters. */
export interface Base64Run {
  readonly end: number;
  /** Whether it extends to the end of the bytes: more of it may follow. */
  readonly isOpen: boolean;
}

/**
 * Finds the end of the run that begins at `start`: it may contain line breaks, literal or escaped, and escaped slashes.
 */
export function runFrom(bytes: Buffer, start: number): Base64Run {
  let at = start;
  let end = start;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    if (alphabet[byte] === 1) {
      at += 1;
      end = at;
    } else if (byte === padding) {
      while (bytes[at] === padding) at += 1;
      return { end: at, isOpen: at === bytes.length };
    } else if (lineBreaks.has(byte)) {
      const next = breakEnd(bytes, at);
      if (next === at) return { end, isOpen: at + 8 > bytes.length };
      at = next;
    } else {
      return { end, isOpen: false };
    }
  }
  return { end, isOpen: true };
}

/** Position after a line break, or after the backslash of an escaped slash; `at` itself if there is neither. */
function breakEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== backslash) return at + 1;
  let next = at;
  while (bytes[next] === backslash) next += 1;
  if (bytes[next] === slash) return next;
  if (bytes[next] !== lowerN && bytes[next] !== lowerR) return at;
  // `\nABC` in Base64 that is not wrapped ends a string; wrapped Base64 continues after it.
  return isOfRun(bytes[next + 1]) || bytes[next + 1] === backslash ? next + 1 : at;
}

/** Decodes a run; undefined for a word or a text that only looks like Base64. */
export function decodedRun(bytes: Buffer, start: number, end: number): Buffer | undefined {
  const written = bytes
    .toString('latin1', start, end)
    .replaceAll(/\\+[nr]/g, '')
    .replaceAll(/[\r\n\\]/g, '');
  const isSigned = signatures.some((signature) => written.startsWith(signature));
  if (written.length < (isSigned ? minLength : minKeyedLength)) return undefined;
  return Buffer.from(written, 'base64');
}

/** Encodes bytes like the run that they replace: same alphabet, padding and line length. */
export function encodedLike(original: string, bytes: Buffer): string {
  const isForUrls = /[-_]/.test(original) && !/[+/]/.test(original);
  const encoded = bytes.toString(isForUrls ? 'base64url' : 'base64');
  const padded =
    isForUrls && original.endsWith('=') ? encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '=') : encoded;
  const unpadded = original.endsWith('=') || original.replaceAll(/[\r\n\\]/g, '').length % 4 === 0;
  const text = unpadded ? padded : padded.replaceAll('=', '');
  const [line = '', lineBreak = ''] = /^[A-Za-z0-9+/_-]+(\r?\n|(?:\\+r)?\\+n)/.exec(original) ?? [];
  const width = line.length - lineBreak.length;
  return width > 0 ? (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(lineBreak) : text;
}
