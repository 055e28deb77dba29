import type { SecretRange, SecretShape } from '../shape.ts';
import { type NamePiece, namePieces } from './header-names.ts';

/** Longer values are truncated here: no server accepts longer headers. */
const maxValueBytes = 64 * 1024;
const maxContextBytes = 64;

/** A JSON pair: the name as a value, then the key `value`. The quotes may be escaped, as in nested JSON. */
const pairAfter = /^(\\*["'])\s*,\s*(?:\\*["'])?value(?:\\*["'])?\s*:\s*(\\*["'])/i;
/** A key of an object or of a map as Node prints it: `"cookie": "…"`, `'cookie' => '…'`. */
const keyAfter = /^(?:\\*["'`])?\s*(?::|=>)\s*(\\*["'`])/;
/** The same for a key with several values: `"set-cookie": ["…", "…"]`. */
const valuesAfter = /^(\\*["'`])?\s*(?::|=>)\s*\[\s*(?=\\*["'`])/;
/** An element of a list, followed by its value: `["Authorization", "…"]`. */
const elementAfter = /^(\\*["'])\s*,\s*(\\*["'])/;
/** The next element may also be the name of another header. */
const nameOnly = /^[A-Za-z-]*$/;
/** A list of cookies, as HAR files have next to the headers. */
const listAfter = /^s(?:\\*["'])?\s*:\s*\[/;
/** The key before a string. */
const valueKey = /value(?:\\*["'`])?\s*:\s*$/;
const closingBracket = 0x5d;
const quotes: ReadonlySet<number> = new Set(Array.from('"\'`', (quote) => quote.charCodeAt(0)));
const backslash = 0x5c;

/** A line of a protocol or of a log. */
const lineAfter = /^\s*:[ \t]*(?=\S)/;
/** The start of such a line: a bullet, the arrows of curl, the signs of a diff; inside a string or not. */
const lineBefore = /(?:^|[\r\n]|\\+[nrt]|\\*["'`])(?:[ \t]|\\+t)*(?:[<>*+|-]{1,2}[ \t]*){0,3}$/;
/** Patterns that can only be credentials, wherever in a line. */
const schemeAfter =
  /^\s*(?::|=>?)\s*["'`]?(?=(?:Bearer|Basic|Digest|Token|Negotiate|NTLM|ApiKey|DPoP|Hawk|AWS4-HMAC-SHA256)\s+[^\s"'`])/i;
const cookieAfter = /^\s*:\s*(?=[\w!#$%&*+.^|~-]+=[^\s"'`;,])/;
const keyLikeAfter = /^\s*:\s*(?=[^\s"'`,;]*\d)(?=[^\s"'`,;]{8})/;
/**
 * Placeholders in code and documents: `${token}`, also if cut at the next quote, `{{TOKEN}}`, `$TOKEN`, `<key>`,
 * `this.token`, a mask; and the version of a package of that name.
 */
const placeholder =
  /^(?:[A-Za-z][\w-]*\s+)?(?:\$\{[^{}]*\}?|(?:this|process\.env)(?:\.#?\w+)+[,;]?|\$\([^()]*\)|\{\{[^{}]*\}\}|\$[A-Z_][A-Z0-9_]*|<[\w -]*>|…|\*+|[~^]?\d+(?:\.\d+){1,3})$/;
/** A scheme without a credential. */
const schemeAlone = /^(?:Bearer|Basic|Digest|Negotiate|NTLM|DPoP|Hawk)$/i;
const maxPlaceholderBytes = 256;
/** Follows a closing quote rather than an opening one. */
const closingAfter = /^\s*(?:[,;:+)\]}]|\\n|$)/;

/** Finds the values of credential headers in texts: HAR files, traces, logs, dumps of requests. */
class CredentialHeaderShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = maxContextBytes;
  readonly reachForwardBytes = maxValueBytes + 2 * maxContextBytes;

  readonly #piece: NamePiece;

  constructor(piece: NamePiece) {
    this.anchor = Buffer.from(piece.anchor);
    this.#piece = piece;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const pieceStart = anchorStart + this.#piece.start;
    const before = bytes.toString('latin1', Math.max(0, pieceStart - maxContextBytes), pieceStart);
    const name = this.#piece.before.exec(before);
    if (!name) return [];
    const from = anchorStart + this.#piece.end;
    const after = bytes.toString('latin1', from, from + 2 * maxContextBytes);
    const beforeName = before.slice(0, name.index + (/^[a-z0-9]/i.test(name[0]) ? 0 : 1));
    const ranges = quotedValues(bytes, from, after) ?? this.#lineValue(bytes, from, beforeName, after);
    return ranges.filter((range) => !isPlaceholder(bytes, range));
  }

  #lineValue(bytes: Buffer, from: number, before: string, after: string): readonly SecretRange[] {
    const begin = lineBefore.exec(before)?.[0];
    const line = begin === undefined ? null : lineAfter.exec(after);
    const found = line ?? inlineAfter(this.#piece, after);
    if (!found) return [];
    const start = from + found[0].length;
    const rest = bytes.toString('latin1', start, start + maxValueBytes);
    return rangeOf(start, start + lineEnd(rest, line ? (begin ?? '') : undefined));
  }
}

function inlineAfter({ isCookie, anchor }: NamePiece, after: string): RegExpExecArray | null {
  if (isCookie) return cookieAfter.exec(after);
  return /uthorization/i.test(anchor) ? schemeAfter.exec(after) : keyLikeAfter.exec(after);
}

/** The value, or values, if they are strings of JSON, of code, or of objects as Node prints them. */
function quotedValues(bytes: Buffer, from: number, after: string): readonly SecretRange[] | undefined {
  const pair = pairAfter.exec(after);
  if (pair) return stringAt(bytes, from + pair[0].length, pair[2]);
  const key = keyAfter.exec(after);
  if (key) {
    const isClosing = !/^\\*["'`]/.test(after) && closingAfter.test(after.slice(key[0].length));
    return isClosing ? undefined : stringAt(bytes, from + key[0].length, key[1]);
  }
  const values = valuesAfter.exec(after);
  if (values) return stringsOfList(bytes, from + values[0].length, () => true);
  const list = listAfter.exec(after);
  if (list) return stringsOfList(bytes, from + list[0].length, (before) => valueKey.test(before));
  const element = elementAfter.exec(after);
  if (!element) return undefined;
  const [range] = stringAt(bytes, from + element[0].length, element[2]);
  return range && !nameOnly.test(bytes.toString('latin1', range.start, range.end)) ? [range] : [];
}

function stringAt(bytes: Buffer, start: number, quote = '"'): readonly SecretRange[] {
  return rangeOf(start, stringEnd(bytes, start, quote));
}

function isPlaceholder(bytes: Buffer, { start, end }: SecretRange): boolean {
  if (end - start > maxPlaceholderBytes) return false;
  const value = bytes.toString('utf8', start, end);
  return placeholder.test(value) || schemeAlone.test(value);
}

function rangeOf(start: number, end: number): readonly SecretRange[] {
  return end > start ? [{ start, end }] : [];
}

/** Strings up to the closing bracket of a list, filtered by the text before them. */
function stringsOfList(
  bytes: Buffer,
  start: number,
  isWanted: (before: string) => boolean,
): readonly SecretRange[] {
  const ranges: SecretRange[] = [];
  const limit = Math.min(bytes.length, start + maxValueBytes);
  for (let at = start; at < limit && bytes[at] !== closingBracket; at += 1) {
    if (!quotes.has(bytes[at] ?? 0)) continue;
    let escapes = 0;
    while (bytes[at - 1 - escapes] === backslash) escapes += 1;
    const quote = bytes.toString('latin1', at - escapes, at + 1);
    const begin = at + 1;
    const end = stringEnd(bytes, begin, quote);
    if (isWanted(bytes.toString('latin1', Math.max(start, begin - 32), begin - quote.length))) {
      ranges.push(...rangeOf(begin, end));
    }
    at = end + quote.length - 1;
  }
  return ranges;
}

/**
 * End of the value on a line: the end of the line, or of the string that contains the line. The value itself may
 * contain quotes: those with more backslashes, and other quotes, do not end it.
 *
 * @param begin the start of the line; undefined if its context is unknown.
 */
function lineEnd(rest: string, begin: string | undefined): number {
  const breakBefore = begin === undefined ? undefined : /^(\\+)[nrt]/.exec(begin)?.[1];
  const quoteBefore = begin === undefined ? undefined : /^(\\*)(["'`])/.exec(begin);
  for (const { 0: mark, 1: escapes = '', index } of rest.matchAll(/[\r\n]|(\\*)(?:[rn](?<=\\.)|["'`])/g)) {
    const last = mark.at(-1) ?? '';
    if (!'"\'`'.includes(last)) return index;
    if (begin === undefined) return index;
    if (quoteBefore && last === quoteBefore[2] && escapes.length <= (quoteBefore[1]?.length ?? 0))
      return index;
    if (breakBefore !== undefined && last === '"' && escapes.length < breakBefore.length) return index;
  }
  return rest.length;
}

/** End of a string whose quotes have that many backslashes: fewer or more do not end it. */
function stringEnd(bytes: Buffer, start: number, quote: string): number {
  const limit = Math.min(bytes.length, start + maxValueBytes);
  const mark = quote.charCodeAt(quote.length - 1);
  for (let at = start; at < limit; at += 1) {
    if (bytes[at] === 10) return at;
    if (bytes[at] !== mark) continue;
    let backslashes = 0;
    while (at - 1 - backslashes >= start && bytes[at - 1 - backslashes] === backslash) backslashes += 1;
    if (backslashes === quote.length - 1) return at - backslashes;
  }
  return limit;
}

/** Shapes for the values of headers that carry credentials, whatever the value. */
export function credentialHeaderShapes(): SecretShape[] {
  return namePieces().map((piece) => new CredentialHeaderShape(piece));
}
