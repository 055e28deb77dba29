import type { SecretRange } from './shapes/shape.ts';

/** Text that replaces some bytes. */
export interface Replacement extends SecretRange {
  readonly text: string;
}

/**
 * Position relative to JSON: at the START of a line, before its kind is known; in TEXT that is not JSON; in JSON
 * between tokens; within a STRING of it. JSON strings cannot span lines, so every line starts anew.
 */
type Place = 'start' | 'text' | 'json' | 'string';

const newline = 0x0a;
const doubleQuote = 0x22;
const backslash = 0x5c;
const letterU = 0x75;
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);
/** First characters of a JSON line; numbers and words are left out, because any text may begin with them. */
const openers: ReadonlySet<number> = new Set(Array.from('{["}]', (one) => one.charCodeAt(0)));
const structure: ReadonlySet<number> = new Set(Array.from('{}[]:, \t\r\n', (one) => one.charCodeAt(0)));
const beforeValues: ReadonlySet<number> = new Set(Array.from('{[:,', (one) => one.charCodeAt(0)));
/** No JSON number or word is longer, nor is an escape. */
const maxTokenBytes = 64;

/**
 * Masks secrets so that JSON stays valid: within strings whole escapes are replaced, quotes of the document are kept,
 * and a number or a word becomes a string. Tracks its position in the line, so that a text may arrive in chunks.
 */
export class Masking {
  readonly #mask: string;
  #place: Place = 'start';

  constructor(mask: string) {
    this.#mask = mask;
  }

  /**
   * Returns replacements for the ranges. The next call continues at `upTo`.
   *
   * @param ranges in order, without overlaps, and all before `upTo`.
   */
  replacements(bytes: Buffer, ranges: readonly SecretRange[], upTo = bytes.length): Replacement[] {
    const replaced: Replacement[] = [];
    let at = 0;
    for (const range of ranges) {
      if (range.end <= at) continue;
      this.#moveOn(bytes, at, Math.max(at, range.start));
      const start = Math.max(at, escapeStart(bytes, range.start));
      const end = Math.min(upTo, escapeEnd(bytes, range.end));
      if (this.#place === 'start') this.#place = openers.has(bytes[start] ?? 0) ? 'json' : 'text';
      if (this.#place === 'json' && !isValuePlace(bytes, start)) this.#place = 'text';
      const isPlain = this.#place === 'text' || (this.#place === 'string' && quoteIn(bytes, start, end) < 0);
      const pieces = isPlain
        ? [this.#piece(bytes, start, end)]
        : this.#tokens(bytes, { start, end }, at, upTo);
      replaced.push(...pieces);
      const done = Math.max(end, pieces.at(-1)?.end ?? 0);
      if (isPlain) this.#moveOn(bytes, bytes.lastIndexOf(newline, done - 1) >= start ? start : done, done);
      at = done;
    }
    this.#moveOn(bytes, at, upTo);
    return replaced;
  }

  /** A JSON number gets quotes: within a JSON string the quotes of its key, on a line of its own plain ones. */
  #piece(bytes: Buffer, start: number, end: number): Replacement {
    const plain = { start, end, text: this.#mask };
    if (!/^[\d.+-]+$/.test(bytes.toString('latin1', start, Math.min(end, start + maxTokenBytes))))
      return plain;
    const before = bytes.toString('latin1', Math.max(0, start - maxTokenBytes), start);
    const after = bytes.toString('latin1', end, end + maxTokenBytes);
    const key = /^\s*[,}]/.test(after) ? /(\\*")\s*:\s*$/.exec(before)?.[1] : undefined;
    const isElement = /[[,]\s*\n\s*$/.test(before) && /^,?\s*[\]\n]/.test(after);
    const quote = key ?? (isElement ? '"' : '');
    return { start, end, text: quote + this.#mask + quote };
  }

  /** Masks token by token: the contents of strings, and everything else except JSON structure. */
  #tokens(bytes: Buffer, { start, end }: SecretRange, earliest: number, upTo: number): Replacement[] {
    const pieces: Replacement[] = [];
    let at = start;
    while (at < end) {
      if (this.#place === 'string') {
        const quote = quoteIn(bytes, at, end);
        const stop = quote < 0 ? end : quote;
        if (stop > at) pieces.push({ start: at, end: stop, text: this.#mask });
        at = stop;
        if (quote < 0) break;
        this.#place = 'json';
        at += 1;
        continue;
      }
      const byte = bytes[at] ?? 0;
      if (byte === doubleQuote) this.#place = 'string';
      if (byte === newline) this.#place = 'start';
      else if (this.#place === 'start' && !blanks.has(byte)) this.#place = 'json';
      if (byte === doubleQuote || structure.has(byte)) {
        at += 1;
        continue;
      }
      const from = Math.max(earliest, pieces.at(-1)?.end ?? 0);
      let first = at;
      while (first > from && isOfToken(bytes[first - 1])) first -= 1;
      let last = at + 1;
      while (last < end && bytes[last] !== doubleQuote && !structure.has(bytes[last] ?? 0)) last += 1;
      while (last < upTo && isOfToken(bytes[last])) last += 1;
      pieces.push({ start: first, end: last, text: `"${this.#mask}"` });
      at = last;
    }
    return pieces;
  }

  /** Advances the state from one position to another. */
  #moveOn(bytes: Buffer, from: number, to: number): void {
    let at = from;
    if (to > from) {
      const lastLine = bytes.lastIndexOf(newline, to - 1) + 1;
      if (lastLine > from) {
        at = lastLine;
        this.#place = 'start';
      }
    }
    while (at < to && this.#place !== 'text') {
      const byte = bytes[at] as number;
      if (this.#place === 'start') {
        if (!blanks.has(byte)) {
          this.#place = openers.has(byte) ? 'json' : 'text';
          if (byte === doubleQuote) this.#place = 'string';
        }
        at += 1;
      } else if (this.#place === 'json') {
        const quote = bytes.indexOf(doubleQuote, at);
        if (quote < 0 || quote >= to) return;
        this.#place = 'string';
        at = quote + 1;
      } else {
        const quote = quoteIn(bytes, at, to);
        if (quote < 0) return;
        this.#place = 'json';
        at = quote + 1;
      }
    }
  }
}

/** Whether a JSON value or key can be at this position: text that only resembles JSON gets no quotes. */
function isValuePlace(bytes: Buffer, start: number): boolean {
  let at = start;
  while (isOfToken(bytes[at - 1])) at -= 1;
  while (blanks.has(bytes[at - 1] ?? 0)) at -= 1;
  const before = bytes[at - 1] ?? newline;
  return before === newline || beforeValues.has(before) || structure.has(bytes[start] ?? 0);
}

/** The next unescaped quote between two positions, or -1. */
function quoteIn(bytes: Buffer, from: number, to: number): number {
  for (
    let at = bytes.indexOf(doubleQuote, from);
    at >= 0 && at < to;
    at = bytes.indexOf(doubleQuote, at + 1)
  ) {
    if (backslashesBefore(bytes, at) % 2 === 0) return at;
  }
  return -1;
}

function backslashesBefore(bytes: Buffer, at: number): number {
  let count = 0;
  while (bytes[at - 1 - count] === backslash) count += 1;
  return count;
}

/** Start of the escape that contains this position, or the position itself. */
function escapeStart(bytes: Buffer, at: number): number {
  const count = backslashesBefore(bytes, at);
  if (count % 2 === 1) return at - count;
  const introducer = unicodeIntroducer(bytes, at);
  return introducer < 0 ? at : introducer - backslashesBefore(bytes, introducer);
}

/** End of the escape that contains this position, or the position itself. */
function escapeEnd(bytes: Buffer, at: number): number {
  if (backslashesBefore(bytes, at) % 2 === 1) return at + (bytes[at] === letterU ? 5 : 1);
  const introducer = unicodeIntroducer(bytes, at);
  return introducer < 0 ? at : introducer + 5;
}

/** Position of the `u` of `\uXXXX` if `at` is within its digits; else -1. */
function unicodeIntroducer(bytes: Buffer, at: number): number {
  for (let before = at - 1; before >= at - 4 && before > 0; before -= 1) {
    const byte = bytes[before] ?? 0;
    if (byte === letterU) return backslashesBefore(bytes, before) % 2 === 1 ? before : -1;
    if (!isHexDigit(byte)) return -1;
  }
  return -1;
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** Whether JSON numbers and words consist of such bytes. */
function isOfToken(byte = 0): boolean {
  const lower = byte | 0x20;
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (lower >= 0x61 && lower <= 0x7a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}

/** The last position up to `at` where a text may be split without affecting the masking. */
export function partingBefore(bytes: Buffer, at: number): number {
  let place = at;
  while (place > 0 && at - place < maxTokenBytes) {
    const byte = bytes[place - 1];
    if (byte !== backslash && !isOfToken(byte)) break;
    place -= 1;
  }
  return place;
}

/** Replaces ranges by the mask. */
export function masked(bytes: Buffer, ranges: readonly SecretRange[], mask: string): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of new Masking(mask).replacements(bytes, ranges)) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text));
    at = end;
  }
  pieces.push(bytes.subarray(at));
  return Buffer.concat(pieces);
}
