import { innerBase64 } from './base64-shapes.ts';
import { allEscaped, bodySpellings, protocolSpellings, spellingsFrom } from './spellings.ts';

/** Only this much of a longer secret is recognized in truncated texts. */
const maxCutLength = 16 * 1024;
/** At least this much of a secret next to a truncation mark counts as a match. */
export const minCutBytes = 4;
const tableBits = 18;
const gramBytes = 4;
/** Maximum length of an escape. */
const escapeReachBytes = 12;
const backslash = 0x5c;
const percent = 0x25;

interface CutSpelling {
  readonly bytes: Buffer;
  /** A beginning up to this length is not secret: for example, it only names the host of a URL. */
  readonly publicBytes: number;
}

/**
 * Recognizes the remains of a secret in a truncated text, in the spellings that texts of results, logs and reports use.
 * Nearly every position is ruled out by its four adjacent bytes.
 */
export class CutSecrets {
  readonly #usual: CutSpellings;
  /**
   * Separate, because most texts have no escapes next to a mark, and these many spellings would slow down every lookup.
   */
  readonly #escaped: CutSpellings;
  /** Maximum length of a spelling. */
  readonly reachBytes: number;

  constructor(values: ReadonlySet<string>) {
    this.#usual = new CutSpellings(values, usualSpellings);
    this.#escaped = new CutSpellings(values, escapedSpellings);
    this.reachBytes = [...values].reduce(
      (reach, { length }) => Math.max(reach, Math.min(length, maxCutLength) * 40),
      0,
    );
  }

  /** Start of the truncated secret that ends at `end`, or -1. */
  beginningBefore(bytes: Buffer, end: number, minBytes = minCutBytes): number {
    const first = this.#usual.beginningBefore(bytes, end, minBytes);
    if (first >= 0 || !hasEscape(bytes, end)) return first;
    return this.#escaped.beginningBefore(bytes, end, minBytes);
  }

  /** End of the secret whose beginning was cut off at `start`, or -1. */
  endingAfter(bytes: Buffer, start: number): number {
    const last = this.#usual.endingAfter(bytes, start);
    return last >= 0 || !hasEscape(bytes, start) ? last : this.#escaped.endingAfter(bytes, start);
  }

  /** Whether a text truncated on both sides is a piece of a secret. */
  isPiece(bytes: Buffer, start: number, end: number): boolean {
    if (this.#usual.isPiece(bytes, start, end)) return true;
    return hasEscape(bytes, start) && this.#escaped.isPiece(bytes, start, end);
  }
}

/** Whether there is an escape next to a position, literal or percent-encoded. */
function hasEscape(bytes: Buffer, at: number): boolean {
  for (let place = Math.max(0, at - escapeReachBytes); place < at + escapeReachBytes; place += 1)
    if (bytes[place] === backslash || bytes[place] === percent) return true;
  return false;
}

/** Secrets in some of the spellings that may be truncated. */
class CutSpellings {
  readonly #values: Iterable<string>;
  readonly #spellingsOf: (secret: string) => readonly CutSpelling[];
  /** Created at the first truncation mark: most texts have none. */
  #spellings: readonly CutSpelling[] | undefined;
  readonly #grams = new Uint8Array(1 << (tableBits - 3));

  constructor(values: ReadonlySet<string>, spellingsOf: (secret: string) => readonly CutSpelling[]) {
    this.#values = values;
    this.#spellingsOf = spellingsOf;
  }

  beginningBefore(bytes: Buffer, end: number, minBytes: number): number {
    const gramStart = end - gramBytes;
    if (gramStart < 0 || !this.#isKnown(bytes, gramStart)) return -1;
    const gram = bytes.subarray(gramStart, end);
    let first = -1;
    for (const { bytes: spelling, publicBytes } of this.#all()) {
      for (let at = spelling.indexOf(gram); at >= 0; at = spelling.indexOf(gram, at + 1)) {
        const length = at + gramBytes;
        const start = end - length;
        if (length < minBytes + publicBytes || start < 0 || (first >= 0 && start >= first)) continue;
        if (bytes.compare(spelling, 0, length, start, end) === 0) first = start;
      }
    }
    return first;
  }

  endingAfter(bytes: Buffer, start: number): number {
    if (!this.#isKnown(bytes, start)) return -1;
    const gram = bytes.subarray(start, start + gramBytes);
    let last = -1;
    for (const { bytes: spelling } of this.#all()) {
      for (let at = spelling.indexOf(gram); at >= 0; at = spelling.indexOf(gram, at + 1)) {
        const end = start + spelling.length - at;
        if (end > bytes.length || end <= last) continue;
        if (bytes.compare(spelling, at, spelling.length, start, end) === 0) last = end;
      }
    }
    return last;
  }

  isPiece(bytes: Buffer, start: number, end: number): boolean {
    if (end - start < gramBytes || !this.#isKnown(bytes, start)) return false;
    const piece = bytes.subarray(start, end);
    return this.#all().some(({ bytes: spelling }) => spelling.includes(piece));
  }

  #isKnown(bytes: Buffer, at: number): boolean {
    if (at + gramBytes > bytes.length) return false;
    this.#all();
    const place = gramHash(bytes, at);
    return ((this.#grams[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
  }

  #all(): readonly CutSpelling[] {
    this.#spellings ??= this.#spelled();
    return this.#spellings;
  }

  #spelled(): readonly CutSpelling[] {
    const spellings = [...this.#values].flatMap(this.#spellingsOf);
    for (const { bytes } of spellings) {
      for (let at = 0; at + gramBytes <= bytes.length; at += 1) {
        const place = gramHash(bytes, at);
        this.#grams[place >> 3] = (this.#grams[place >> 3] ?? 0) | (1 << (place & 7));
      }
    }
    return spellings;
  }
}

function gramHash(bytes: Buffer, at: number): number {
  return Math.imul(bytes.readInt32LE(at), -1640531535) >>> (32 - tableBits);
}

function usualSpellings(secret: string): CutSpelling[] {
  const text = secret.slice(0, maxCutLength);
  const publicLength = publicLengthOf(text);
  const all = spellingsFrom(text, publicLength);
  for (const name of protocolSpellings(text)) all.set(name, publicLength);
  const hex = Buffer.from(text).toString('hex');
  all.set(hex, 2 * publicLength);
  // As Node prints a long Buffer.
  all.set(hex.replaceAll(/..(?!$)/g, '$& '), 3 * publicLength);
  for (const spelling of bodySpellings(text)) {
    const bytes = Buffer.from(spelling);
    for (const offset of [0, 1, 2]) {
      const inner = innerBase64(bytes, offset);
      const publicBytes = Math.ceil((publicLength * 4) / 3);
      all.set(inner, publicBytes);
      all.set(inner.replaceAll('+', '-').replaceAll('/', '_'), publicBytes);
    }
  }
  return Array.from(all, ([spelling, publicBytes]) => ({ bytes: Buffer.from(spelling), publicBytes }));
}

function escapedSpellings(secret: string): CutSpelling[] {
  const text = secret.slice(0, maxCutLength);
  const starts = allEscaped(text.slice(0, publicLengthOf(text)));
  return allEscaped(text).map((spelling, index) => ({
    bytes: Buffer.from(spelling),
    publicBytes: starts[index]?.length ?? 0,
  }));
}

/**
 * The public beginning: of a key its first line; of a URL with a path or query, scheme and host; of other URLs, the
 * scheme.
 */
function publicLengthOf(secret: string): number {
  const [title] = /^-----BEGIN [^-]+-----/.exec(secret) ?? [];
  if (title !== undefined) return title.length;
  const [scheme = ''] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(secret) ?? [];
  if (scheme === '') return 0;
  const [origin = ''] = /^[^/?#@\s]*(?=[/?#]\S)/.exec(secret.slice(scheme.length)) ?? [];
  return scheme.length + origin.length;
}
