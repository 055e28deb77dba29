import { decodeHTML } from 'entities';
import type { Unit } from './shape.ts';
import { misread } from './spellings.ts';

/** How often a text may have been escaped: `%252525`, `\\\\\\\\`, `&amp;amp;`. */
const maxPercentNesting = 4;
/** JSON nested six deep: two to the power of six. */
const maxBackslashes = 64;
/** Before letters and digits, which are escaped by code points or not at all. */
const maxBackslashesOfPlain = 7;
/** Each takes three bytes, or more if it was encoded again. */
const maxPercentBackslashes = 7;
const maxAmpersandNesting = 3;
const maxEntityBytes = 12;
const maxCodePointDigits = 8;
/** `=\r\n`, where quoted-printable breaks a line; optionally escaped again. */
const softBreak = /^=(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n|(?:%0[dD])?%0[aA])/;
const maxSoftBreakBytes = 18;

const code = (character: string) => character.charCodeAt(0);
const backslash = code('\\');
const percent = code('%');
const plus = code('+');
const ampersand = code('&');
const semicolon = code(';');
const equalsSign = code('=');
const quote = code("'");
const doubleQuote = code('"');
const brace = code('{');
/** Escape characters of Windows shells: cmd, and PowerShell. */
const caret = code('^');
const backtick = code('`');
/** Style sheets escape a character as up to six digits, and a separator from the next one. */
const styleEscape = /^([\da-fA-F]{1,6})(\r\n|\s)?/;

const controlEscapes: Readonly<Record<number, string>> = {
  8: 'b',
  9: 't',
  10: 'n',
  11: 'v',
  12: 'f',
  13: 'r',
};
const ampEntity = Buffer.from('amp;');

export interface TextUnitOptions {
  /** The first character of a secret: a line break before it does not belong to it. */
  readonly isFirst?: boolean;
  /** A character of a text decoded with a wrong encoding; this is not applied twice. */
  readonly isMisread?: boolean;
}

/**
 * The spellings of one character in text: UTF-8 or Latin-1, percent-encoded in either and in either case, `+` for a
 * space, backslash escapes of JSON, JavaScript, C and shells at any depth, of the character or of its bytes, character
 * references of HTML and XML, quotes of shells, doubled quotes of SQL, CSV and YAML, quoted-printable, escapes of style
 * sheets and Windows shells, and UTF-8 that was read as Latin-1. White space may have been removed from a header.
 */
export class TextUnit implements Unit {
  readonly maxBytes: number;
  readonly #codePoint: number;
  readonly #utf8: Buffer;
  readonly #units: readonly number[];
  readonly #isDroppable: boolean;
  readonly #isFirst: boolean;
  /** Some of its spellings begin like the character itself, so the first match is not enough. */
  readonly #isAmbiguous: boolean;
  readonly #maxBackslashes: number;
  /** One byte in Latin-1, two in UTF-8. */
  readonly #isLatin: boolean;
  /** Its bytes as characters of single-byte encodings. */
  readonly #misread: readonly (readonly TextUnit[])[];

  /** @param character one code point. */
  constructor(character: string, { isFirst = false, isMisread = false }: TextUnitOptions = {}) {
    this.#codePoint = character.codePointAt(0) ?? 0;
    this.#utf8 = Buffer.from(character);
    this.#units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    this.#isLatin = this.#codePoint >= 0x80 && this.#codePoint <= 0xff;
    this.#isDroppable = character === '\n' || character === '\r' || character === '\t';
    this.#isFirst = isFirst;
    this.#isAmbiguous = this.#isDroppable || `\\%&='"^\``.includes(character);
    this.#maxBackslashes = /[A-Za-z0-9]/.test(character) ? maxBackslashesOfPlain : maxBackslashes;
    this.#misread = isMisread
      ? []
      : misread(character).map((wrong) => Array.from(wrong, (one) => new TextUnit(one, { isMisread: true })));
    const percentBytes = (this.#utf8.length + maxPercentBackslashes) * (3 + 2 * maxPercentNesting);
    const referenceBytes = 1 + 4 * maxAmpersandNesting + maxEntityBytes;
    const escapeBytes =
      Math.max(this.#units.length, this.#utf8.length) * (this.#maxBackslashes + 10) + referenceBytes;
    const quotedBytes = this.#utf8.length * (3 + maxSoftBreakBytes);
    const misreadBytes = this.#misread.map((units) => units.reduce((sum, { maxBytes }) => sum + maxBytes, 0));
    const oneBytes = Math.max(percentBytes, escapeBytes, quotedBytes, referenceBytes, ...misreadBytes);
    this.maxBytes = oneBytes * (isQuote(this.#codePoint) ? 2 : 1) + (isFirst ? 0 : maxSoftBreakBytes);
  }

  endsAt(bytes: Buffer, at: number): readonly number[] {
    const first = bytes[at];
    // The most frequent cases by far.
    if (this.#utf8.length === 1 && !this.#isAmbiguous) {
      if (first === this.#codePoint) return [at + 1];
      if (first !== undefined && first > 0x3d && first !== backslash && !isShellEscape(first)) return none;
    }
    const ends: number[] = [];
    const add = (end: number) => {
      if (end >= 0 && end <= bytes.length && !ends.includes(end)) ends.push(end);
    };
    if (first === equalsSign && !this.#isFirst) {
      const start = softBreakEnd(bytes, at);
      if (start > at) for (const end of this.#endsOf(bytes, start)) add(end);
    }
    for (const end of this.#endsOf(bytes, at)) {
      // Both quotes of a doubled one, as the first choice: otherwise half of the last character would remain.
      const doubled = 2 * end - at;
      if (isQuote(this.#codePoint) && this.#endsOf(bytes, end).includes(doubled)) add(doubled);
      add(end);
    }
    if (this.#isDroppable) add(at);
    return ends;
  }

  #endsOf(bytes: Buffer, at: number): number[] {
    const first = bytes[at];
    const ends: number[] = [];
    const add = (end: number) => {
      if (end >= 0 && end <= bytes.length) ends.push(end);
    };
    if (this.#codePoint === quote && first === quote) add(shellQuoteEnd(bytes, at));
    if (this.#codePoint === 10 && first === 13) add(literalEnd(bytes, at + 1, this.#utf8));
    if (first === backslash) this.#addEscapes(bytes, at, add);
    else if (first === percent) this.#addPercents(bytes, at, add);
    else if (first === ampersand) this.#addReferences(bytes, at, add);
    else if (first === equalsSign) add(this.#quotedPrintableEnd(bytes, at));
    // Before a secret these are quotes of the text: what they escape is masked anyway.
    else if (first !== undefined && !this.#isFirst && isShellEscape(first))
      this.#addShellEscape(bytes, at, add);
    else if (first === plus && this.#codePoint === 32) add(at + 1);
    add(literalEnd(bytes, at, this.#utf8));
    if (this.#isLatin && first === this.#codePoint) add(at + 1);
    for (const units of this.#misread) for (const end of sequenceEnds(units, bytes, at)) add(end);
    return ends;
  }

  #addEscapes(bytes: Buffer, at: number, add: (end: number) => void): void {
    let after = at;
    while (bytes[after] === backslash && after - at < this.#maxBackslashes) after += 1;
    const control = controlEscapes[this.#codePoint];
    if (control !== undefined && bytes[after] === code(control)) add(after + 1);
    if (this.#codePoint < 256 && isHex(bytes, after, 'x', this.#codePoint, 2)) add(after + 3);
    add(this.#unicodeEscapeEnd(bytes, at, backslash));
    if (this.#codePoint < 0x80) add(octalEnd(bytes, after, this.#codePoint));
    else add(this.#byteEscapesEnd(bytes, at));
    if (hexDigit(bytes[after]) >= 0) this.#addStyleEscape(bytes, after, add);
    if (bytes[after] === code('u') && bytes[after + 1] === brace) {
      const close = nearEnd(bytes, after + 2, code('}'), maxCodePointDigits);
      const digits = close > 0 ? bytes.toString('latin1', after + 2, close) : '';
      if (/^[\da-f]+$/i.test(digits) && Number.parseInt(digits, 16) === this.#codePoint) add(close + 1);
    }
    if (this.#codePoint !== backslash) {
      // Escaped for JSON, then for HTML.
      if (bytes[after] === ampersand) this.#addReferences(bytes, after, add);
      add(literalEnd(bytes, after, this.#utf8));
      if (this.#isLatin && bytes[after] === this.#codePoint) add(after + 1);
      return;
    }
    for (const count of likelyCounts(after - at)) add(at + count);
  }

  #addShellEscape(bytes: Buffer, at: number, add: (end: number) => void): void {
    const next = bytes[at + 1];
    if (next === undefined || isShellEscape(next)) add(literalEnd(bytes, at + 1, this.#utf8));
    // Escaped again, as in JSON.
    else for (const end of this.#endsOf(bytes, at + 1)) add(end);
    const control = controlEscapes[this.#codePoint];
    if (control !== undefined && bytes[at] === backtick && bytes[at + 1] === code(control)) add(at + 2);
  }

  #addStyleEscape(bytes: Buffer, after: number, add: (end: number) => void): void {
    const [all = '', digits = ''] = styleEscape.exec(bytes.toString('latin1', after, after + 8)) ?? [];
    if (digits === '' || Number.parseInt(digits, 16) !== this.#codePoint) return;
    add(after + all.length);
    if (all.length > digits.length) add(after + digits.length);
  }

  #addPercents(bytes: Buffer, at: number, add: (end: number) => void): void {
    if (this.#isLatin) add(percentEnd(bytes, at, Buffer.of(this.#codePoint)));
    if (this.#codePoint === percent) {
      // %, %25, %2525 … are one character at increasing escape depth.
      let end = at + 1;
      const all = [end];
      while (bytes[end] === 0x32 && bytes[end + 1] === 0x35 && all.length <= maxPercentNesting + 1) {
        end += 2;
        all.push(end);
      }
      for (const possible of all.toReversed()) add(possible);
      return;
    }
    add(percentEnd(bytes, at, this.#utf8));
    if (this.#codePoint === 32) add(percentEnd(bytes, at, Buffer.of(plus)));
    if (this.#codePoint === 10) {
      const carriageEnd = percentEnd(bytes, at, Buffer.of(13));
      if (carriageEnd >= 0) add(percentEnd(bytes, carriageEnd, this.#utf8));
    }
    add(this.#unicodeEscapeEnd(bytes, at, percent));
    // Escaped for JSON, then for a URL.
    const escapes = percentBackslashEnds(bytes, at);
    const after = escapes.at(-1);
    if (after === undefined) return;
    if (this.#codePoint === backslash) {
      for (const count of likelyCounts(escapes.length)) add(escapes[count - 1] ?? -1);
      return;
    }
    add(percentEnd(bytes, after, this.#utf8));
    add(literalEnd(bytes, after, this.#utf8));
    const control = controlEscapes[this.#codePoint];
    if (control !== undefined && bytes[after] === code(control)) add(after + 1);
    for (const end of this.#percentUnicodeEnds(bytes, after)) add(end);
  }

  /** `u00fc` after a percent-encoded backslash. */
  #percentUnicodeEnds(bytes: Buffer, after: number): readonly number[] {
    const [unit] = this.#units;
    const isOne = this.#units.length === 1 && unit !== undefined;
    return isOne && isHex(bytes, after, 'u', unit, 4) ? [after + 5] : none;
  }

  #addReferences(bytes: Buffer, at: number, add: (end: number) => void): void {
    let name = at + 1;
    const ends: number[] = [];
    for (let nesting = 0; nesting <= maxAmpersandNesting; nesting += 1) {
      const end = nearEnd(bytes, name, semicolon, maxEntityBytes);
      if (end < 0) break;
      if (
        decodeHTML(`&${bytes.toString('latin1', name, end + 1)}`) === String.fromCodePoint(this.#codePoint)
      ) {
        ends.push(end + 1);
      }
      if (literalEnd(bytes, name, ampEntity) < 0) break;
      name += ampEntity.length;
    }
    // The longest first: `&amp;amp;` is one ampersand, escaped twice.
    for (const end of ends.toReversed()) add(end);
  }

  /** `=C3=BC`. */
  #quotedPrintableEnd(bytes: Buffer, at: number): number {
    let end = at;
    for (const value of this.#utf8) {
      const start = end > at ? softBreakEnd(bytes, end) : end;
      if (bytes[start] !== equalsSign || !isHexByte(bytes, start + 1, value)) return -1;
      end = start + 3;
    }
    return end;
  }

  /** `\xc3\xbc` or `\303\274`, which is how C, Python and git write the bytes of UTF-8. */
  #byteEscapesEnd(bytes: Buffer, at: number): number {
    let end = at;
    for (const value of this.#utf8) {
      const start = end;
      while (bytes[end] === backslash && end - start < this.#maxBackslashes) end += 1;
      if (end === start) return -1;
      const octal = octalEnd(bytes, end, value);
      if (octal >= 0) end = octal;
      else if (isHex(bytes, end, 'x', value, 2)) end += 3;
      else return -1;
    }
    return end;
  }

  /** `\uXXXX` or `%uXXXX`, twice for characters beyond the first 65,536. */
  #unicodeEscapeEnd(bytes: Buffer, at: number, introducer: number): number {
    let end = at;
    for (const unit of this.#units) {
      const start = end;
      while (bytes[end] === introducer && end - start < this.#maxBackslashes) end += 1;
      if (end === start || !isHex(bytes, end, 'u', unit, 4)) return -1;
      end += 5;
    }
    return end;
  }
}

/** How many backslashes of a row one may be: escaped once two, twice four. The rest may belong to what follows. */
function likelyCounts(count: number): readonly number[] {
  return [2 ** Math.floor(Math.log2(count)), ...Array.from({ length: count }, (_, less) => count - less)];
}

/** Ends of consecutive percent-encoded backslashes. */
function percentBackslashEnds(bytes: Buffer, at: number): readonly number[] {
  const ends: number[] = [];
  let end = at;
  while (ends.length <= maxPercentBackslashes) {
    end = percentEnd(bytes, end, Buffer.of(backslash));
    if (end < 0) break;
    ends.push(end);
  }
  return ends;
}

/** A possible line break of quoted-printable before a piece that is searched literally. */
export class SoftBreak implements Unit {
  readonly maxBytes = maxSoftBreakBytes;

  endsAt(bytes: Buffer, at: number): readonly number[] {
    const end = bytes[at] === equalsSign ? softBreakEnd(bytes, at) : at;
    return end > at ? [end, at] : [at];
  }
}

const none: readonly number[] = [];

function isShellEscape(byte: number): boolean {
  return byte === caret || byte === backtick;
}

function isQuote(codePoint: number): boolean {
  return codePoint === quote || codePoint === doubleQuote;
}

/** Finds a byte within a distance; -1 if it is not there. An unbounded search could scan a large file. */
function nearEnd(bytes: Buffer, from: number, wanted: number, maxDistance: number): number {
  for (let at = from; at <= from + maxDistance; at += 1) if (bytes[at] === wanted) return at;
  return -1;
}

/** Position after a soft line break, or `at` itself. */
function softBreakEnd(bytes: Buffer, at: number): number {
  return at + (softBreak.exec(bytes.toString('latin1', at, at + maxSoftBreakBytes))?.[0].length ?? 0);
}

/** Possible ends of consecutive units. */
function sequenceEnds([unit, ...rest]: readonly TextUnit[], bytes: Buffer, at: number): readonly number[] {
  return unit ? unit.endsAt(bytes, at).flatMap((end) => sequenceEnds(rest, bytes, end)) : [at];
}

/**
 * End of `'\\''` or `'"'"'`, which is how shells write a single quote between single quotes; optionally escaped again.
 */
function shellQuoteEnd(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (bytes[end] === backslash && end - at <= maxBackslashes) end += 1;
  if (bytes[end] === quote) return end > at + 1 && bytes[end + 1] === quote ? end + 2 : -1;
  if (bytes[end] !== doubleQuote || bytes[end + 1] !== quote) return -1;
  end += 2;
  while (bytes[end] === backslash && end - at <= 2 * maxBackslashes) end += 1;
  return bytes[end] === doubleQuote && bytes[end + 1] === quote ? end + 2 : -1;
}

/** End of the literal at this position, or -1. */
function literalEnd(bytes: Buffer, at: number, literal: Buffer): number {
  for (let index = 0; index < literal.length; index += 1) if (bytes[at + index] !== literal[index]) return -1;
  return at + literal.length;
}

/** End of the percent codes of these bytes, each `%41`, `%2541` and so on; -1 if they differ. */
function percentEnd(bytes: Buffer, at: number, wanted: Buffer): number {
  let end = at;
  for (const value of wanted) {
    if (bytes[end] !== percent) return -1;
    end += 1;
    for (let nesting = 0; !isHexByte(bytes, end, value); nesting += 1) {
      if (nesting === maxPercentNesting || bytes[end] !== 0x32 || bytes[end + 1] !== 0x35) return -1;
      end += 2;
    }
    end += 2;
  }
  return end;
}

/** End of the octal digits of a byte, three of them or as few as possible; -1 if they differ. */
function octalEnd(bytes: Buffer, at: number, value: number): number {
  const digits = value.toString(8);
  for (const written of [digits.padStart(3, '0'), digits]) {
    if (literalEnd(bytes, at, Buffer.from(written)) >= 0) return at + written.length;
  }
  return -1;
}

function isHexByte(bytes: Buffer, at: number, value: number): boolean {
  return hexDigit(bytes[at]) === value >> 4 && hexDigit(bytes[at + 1]) === (value & 15);
}

function isHex(bytes: Buffer, at: number, letter: string, value: number, digits: number): boolean {
  if (bytes[at] !== code(letter)) return false;
  for (let digit = 0; digit < digits; digit += 1) {
    const wanted = (value >> (4 * (digits - 1 - digit))) & 15;
    if (hexDigit(bytes[at + 1 + digit]) !== wanted) return false;
  }
  return true;
}

function hexDigit(character = 0): number {
  if (character >= 0x30 && character <= 0x39) return character - 0x30;
  const lower = character | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
