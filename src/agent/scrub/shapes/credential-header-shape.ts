import type { SecretRange, SecretShape } from './shape.ts';

/** A value longer than this is cut there: no server takes longer headers. */
const maxValueBytes = 64 * 1024;
const maxContextBytes = 64;

/**
 * Pieces of the names of headers that carry credentials, in the cases they are written in. They are looked
 * for with the letter before and, where they are short, with what may follow: longer anchors make the search
 * quicker.
 */
const pieces: readonly { readonly anchor: string; readonly start: number; readonly end: number }[] = [
  ...['uthorization', 'UTHORIZATION'].map((anchor) => ({ anchor, start: 0, end: anchor.length })),
  ...['api-key', 'Api-key', 'Api-Key', 'API-KEY'].map((anchor) => ({ anchor, start: 1, end: anchor.length })),
  ...['cookie', 'Cookie', 'COOKIE'].flatMap((name) =>
    Array.from(':"\'\\ \ts', (next) => ({ anchor: name + next, start: 1, end: name.length })),
  ),
];

/** What may stand in front of such a piece in a header's name. */
const nameBefore = /(?:^|[^a-z0-9-])(?:(?:proxy-)?a|(?:set-)?c|x-a)$/i;
/**
 * A JSON pair: the name as a value, then the key `value`. The quotes may be escaped, as in JSON inside of
 * JSON.
 */
const pairAfter = /^(\\*["'])\s*,\s*(?:\\*["'])?value(?:\\*["'])?\s*:\s*(\\*["'])/i;
/** A key of an object: `"cookie": "…"`, or of a list of headers in code. */
const keyAfter = /^(\\*["'])\s*:\s*(?:\[\s*)?(\\*["'])/;
/** A list of cookies, as HAR files have next to the headers. */
const listAfter = /^s(\\*["'])\s*:\s*\[/;
const closingBracket = 0x5d;
/** A line of a protocol or of a log. */
const lineAfter = /^\s*:[ \t]*(?=\S)/;
const lineBefore = /(?:^|[\r\n]|\\n|[<>*-] ?|^ +|[\r\n\t] *|\\n *|["'`])$/;
/**
 * Where the value of such a line ends: also at a line break that is escaped, and at the end of a string
 * around it.
 */
const lineEnd = /[\r\n]|\\+[rn]|\\*["'`]/g;

/** Finds the values of credential headers in texts: HAR files, traces, logs, dumps of requests. */
class CredentialHeaderShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = maxContextBytes;
  readonly reachForwardBytes = maxValueBytes + 2 * maxContextBytes;

  readonly #start: number;
  readonly #end: number;

  constructor({ anchor, start, end }: (typeof pieces)[number]) {
    this.anchor = Buffer.from(anchor);
    this.#start = start;
    this.#end = end;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const pieceStart = anchorStart + this.#start;
    const before = bytes.toString('latin1', Math.max(0, pieceStart - maxContextBytes), pieceStart);
    const name = nameBefore.exec(before);
    if (!name) return [];
    const from = anchorStart + this.#end;
    const after = bytes.toString('latin1', from, from + 2 * maxContextBytes);
    const quoted = pairAfter.exec(after) ?? keyAfter.exec(after);
    if (quoted) {
      const start = from + quoted[0].length;
      const quote = quoted[2] ?? '"';
      return rangeOf(start, stringEnd(bytes, start, quote));
    }
    const list = listAfter.exec(after);
    if (list) return cookieValues(bytes, from + list[0].length, list[1] ?? '"');
    const line = lineAfter.exec(after);
    if (!line) return [];
    const beforeName = before.slice(0, name.index + (/^[a-z0-9]/i.test(name[0]) ? 0 : 1));
    if (!lineBefore.test(beforeName)) return [];
    const start = from + line[0].length;
    lineEnd.lastIndex = 0;
    const rest = bytes.toString('latin1', start, start + maxValueBytes);
    const end = lineEnd.exec(rest)?.index ?? rest.length;
    return rangeOf(start, start + end);
  }
}

function rangeOf(start: number, end: number): readonly SecretRange[] {
  return end > start ? [{ start, end }] : [];
}

/** The values of a list of cookies that begins there, up to its end: `{"name":"a","value":"b"},…]`. */
function cookieValues(bytes: Buffer, start: number, quote: string): readonly SecretRange[] {
  const ranges: SecretRange[] = [];
  const mark = quote.charCodeAt(quote.length - 1);
  const limit = Math.min(bytes.length, start + maxValueBytes);
  let key = '';
  for (let at = start; at < limit && bytes[at] !== closingBracket; at += 1) {
    if (bytes[at] !== mark) continue;
    const begin = at + 1;
    const end = stringEnd(bytes, begin, quote);
    at = end + quote.length - 1;
    const isKey = /^\s*:/.test(bytes.toString('latin1', at + 1, at + 16));
    if (isKey) key = bytes.toString('latin1', begin, Math.min(end, begin + 8));
    else if (key === 'value') ranges.push(...rangeOf(begin, end));
  }
  return ranges;
}

/**
 * Where a string ends that is between quotes with that many backslashes: fewer or more of them do not end it.
 */
function stringEnd(bytes: Buffer, start: number, quote: string): number {
  const limit = Math.min(bytes.length, start + maxValueBytes);
  const mark = quote.charCodeAt(quote.length - 1);
  for (let at = start; at < limit; at += 1) {
    if (bytes[at] === 10) return at;
    if (bytes[at] !== mark) continue;
    let backslashes = 0;
    while (at - 1 - backslashes >= start && bytes[at - 1 - backslashes] === 92) backslashes += 1;
    if (backslashes === quote.length - 1) return at - backslashes;
  }
  return limit;
}

/** Shapes for the values of Authorization, Proxy-Authorization, Cookie, Set-Cookie and X-Api-Key. */
export function credentialHeaderShapes(): SecretShape[] {
  return pieces.map((piece) => new CredentialHeaderShape(piece));
}
