import { decodeHTML } from 'entities';
import type { Unit } from './shape.ts';

/** How often a text may have been escaped: `%252525`, `\\\\\\\\`, `&amp;amp;`. */
const maxPercentNesting = 4;
const maxBackslashes = 15;
const maxAmpersandNesting = 3;
const maxEntityBytes = 12;

const code = (character: string) => character.charCodeAt(0);
const backslash = code('\\');
const percent = code('%');
const plus = code('+');
const ampersand = code('&');
const semicolon = code(';');
const quote = code("'");
const doubleQuote = code('"');
const brace = code('{');

const controlEscapes: Readonly<Record<number, string>> = {
  8: 'b',
  9: 't',
  10: 'n',
  11: 'v',
  12: 'f',
  13: 'r',
};
const ampEntity = Buffer.from('amp;');

/**
 * The spellings of one character in text: UTF-8 or Latin-1, percent-encoded in either and either case, `+`
 * for a space, backslash escapes of JSON, JavaScript, C and shells at any depth, character references of HTML
 * and XML, and quotes of shells. White space may have been removed on the way into a header.
 */
export class TextUnit implements Unit {
  readonly maxBytes: number;
  readonly #codePoint: number;
  readonly #utf8: Buffer;
  readonly #units: readonly number[];
  readonly #isDroppable: boolean;
  /** One byte in Latin-1, two in UTF-8. */
  readonly #isLatin: boolean;

  /** @param character one code point. */
  constructor(character: string) {
    this.#codePoint = character.codePointAt(0) ?? 0;
    this.#utf8 = Buffer.from(character);
    this.#units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    this.#isLatin = this.#codePoint >= 0x80 && this.#codePoint <= 0xff;
    this.#isDroppable = character === '\n' || character === '\r' || character === '\t';
    const percentBytes = this.#utf8.length * (3 + 2 * maxPercentNesting);
    const escapeBytes = this.#units.length * (maxBackslashes + 10);
    this.maxBytes = Math.max(percentBytes, escapeBytes, 1 + 4 * maxAmpersandNesting + maxEntityBytes);
  }

  endsAt(bytes: Buffer, at: number): readonly number[] {
    const first = bytes[at];
    // By far the most frequent case.
    if (this.#utf8.length === 1 && first === this.#codePoint && !this.#isAmbiguous()) return [at + 1];
    const ends: number[] = [];
    const add = (end: number) => {
      if (end >= 0 && end <= bytes.length && !ends.includes(end)) ends.push(end);
    };
    if (this.#codePoint === quote && first === quote) add(shellQuoteEnd(bytes, at));
    if (this.#codePoint === 10 && first === 13) add(literalEnd(bytes, at + 1, this.#utf8));
    if (first === backslash) this.#addEscapes(bytes, at, add);
    else if (first === percent) this.#addPercents(bytes, at, add);
    else if (first === ampersand) this.#addReferences(bytes, at, add);
    else if (first === plus && this.#codePoint === 32) add(at + 1);
    add(literalEnd(bytes, at, this.#utf8));
    if (this.#isLatin && first === this.#codePoint) add(at + 1);
    if (this.#isDroppable) add(at);
    return ends;
  }

  /** Characters that also begin longer spellings of themselves. */
  #isAmbiguous(): boolean {
    const codePoint = this.#codePoint;
    const isEscape = codePoint === backslash || codePoint === percent || codePoint === ampersand;
    return isEscape || codePoint === quote || this.#isDroppable;
  }

  #addEscapes(bytes: Buffer, at: number, add: (end: number) => void): void {
    let after = at;
    while (bytes[after] === backslash && after - at < maxBackslashes) after += 1;
    if (this.#codePoint === backslash) {
      // Escaped once it is two, twice four: all of them first, since the next character may bring its own.
      for (let count = after - at; count > 0; count -= 1) add(at + count);
      return;
    }
    add(literalEnd(bytes, after, this.#utf8));
    if (this.#isLatin && bytes[after] === this.#codePoint) add(after + 1);
    const control = controlEscapes[this.#codePoint];
    if (control !== undefined && bytes[after] === code(control)) add(after + 1);
    if (this.#codePoint < 256 && isHex(bytes, after, 'x', this.#codePoint, 2)) add(after + 3);
    add(this.#unicodeEscapeEnd(bytes, at, backslash));
    if (bytes[after] === code('u') && bytes[after + 1] === brace) {
      const close = bytes.indexOf('}', after + 2);
      const digits = close > 0 && close - after <= 10 ? bytes.toString('latin1', after + 2, close) : '';
      if (/^[\da-f]+$/i.test(digits) && Number.parseInt(digits, 16) === this.#codePoint) add(close + 1);
    }
  }

  #addPercents(bytes: Buffer, at: number, add: (end: number) => void): void {
    if (this.#isLatin) add(percentEnd(bytes, at, Buffer.of(this.#codePoint)));
    if (this.#codePoint === percent) {
      // %, %25, %2525 … are one character, escaped more and more often.
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
  }

  #addReferences(bytes: Buffer, at: number, add: (end: number) => void): void {
    let name = at + 1;
    for (let nesting = 0; nesting <= maxAmpersandNesting; nesting += 1) {
      const end = bytes.indexOf(semicolon, name);
      if (end < 0 || end - name > maxEntityBytes) return;
      if (
        decodeHTML(`&${bytes.toString('latin1', name, end + 1)}`) === String.fromCodePoint(this.#codePoint)
      ) {
        add(end + 1);
      }
      if (literalEnd(bytes, name, ampEntity) < 0) return;
      name += ampEntity.length;
    }
  }

  /** `\uXXXX` or `%uXXXX`, twice for characters beyond the first 65,536. */
  #unicodeEscapeEnd(bytes: Buffer, at: number, introducer: number): number {
    let end = at;
    for (const unit of this.#units) {
      const start = end;
      while (bytes[end] === introducer && end - start < maxBackslashes) end += 1;
      if (end === start || !isHex(bytes, end, 'u', unit, 4)) return -1;
      end += 5;
    }
    return end;
  }
}

/**
 * Where `'\\''` or `'"'"'` ends, which is how shells write a single quote between single quotes; escaped once
 * more or not.
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

/** Where bytes that have to be these end, or -1 when they are others. */
function literalEnd(bytes: Buffer, at: number, literal: Buffer): number {
  for (let index = 0; index < literal.length; index += 1) if (bytes[at + index] !== literal[index]) return -1;
  return at + literal.length;
}

/** Where percent codes of these bytes end, each `%41`, `%2541` and so on; -1 when they are others. */
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
