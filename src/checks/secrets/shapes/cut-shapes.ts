import { type CutSecrets, minCutBytes } from './cut-secrets.ts';
import type { SecretRange, SecretShape } from './shape.ts';
import { unwrappedAfter, unwrappedBefore } from './wrapped-base64.ts';

/** Three dots also end sentences: `Checking password...`. */
const minBeforeDots = 6;
const word = /^(?:[A-Za-z]?[a-z]{1,10}|[A-Z]{1,11})$/;
const marks: readonly { readonly mark: string; readonly minBytes: number }[] = [
  ...['…', String.raw`\u2026`, '&hellip;', '%E2%80%A6'].map((mark) => ({ mark, minBytes: minCutBytes })),
  { mark: '...', minBytes: minBeforeDots },
];
/** Characters that may separate a truncated text from the mark: a quote, a blank, a bracket. */
const betweenBefore = bytesOf(' "\'`\\[({<');
const betweenAfter = bytesOf(' "\'`\\])}>');
const maxBetweenBytes = 4;
/** The same, escaped for HTML and URLs. */
const escapedBetween = ['&quot;', '&apos;', '&#39;', '&#x27;', '%22', '%27', '%20'].map((one) =>
  Buffer.from(one),
);
const maxEscapedBytes = Math.max(...escapedBetween.map(({ length }) => length));
/** Decoders produce it from half a character. */
const replacement = Buffer.from('\ufffd');
const none: readonly SecretRange[] = [];

/** Remains of a secret on either side of a truncation mark. */
class CutMarkShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes: number;
  readonly reachForwardBytes: number;
  readonly #cut: CutSecrets;
  readonly #minBytes: number;
  readonly #areDots: boolean;

  constructor(cut: CutSecrets, { mark, minBytes }: (typeof marks)[number]) {
    this.anchor = Buffer.from(mark);
    this.#areDots = mark === '...';
    this.#cut = cut;
    this.#minBytes = minBytes;
    this.reachBackBytes = cut.reachBytes + maxBetweenBytes + maxEscapedBytes + replacement.length;
    this.reachForwardBytes = this.anchor.length + this.reachBackBytes;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    // Of a row of dots the first ones count.
    if (this.#areDots && bytes[anchorStart - 1] === this.anchor[0]) return none;
    const ranges: SecretRange[] = [];
    for (const end of endsBefore(bytes, anchorStart)) {
      const start = this.#beginningBefore(bytes, end);
      if (start < 0) continue;
      const isWord = this.#areDots && word.test(bytes.toString('latin1', start, end));
      if (!isWord) ranges.push({ start, end });
    }
    // Text after mere dots is a new text, unless the beginning of a secret precedes them.
    if (this.#areDots && ranges.length === 0) return none;
    for (const start of startsAfter(bytes, anchorStart + this.anchor.length)) {
      const end = this.#endingAfter(bytes, start);
      if (end >= 0) ranges.push({ start, end });
    }
    return ranges;
  }

  #beginningBefore(bytes: Buffer, end: number): number {
    const start = this.#cut.beginningBefore(bytes, end, this.#minBytes);
    const inLines = start < 0 ? unwrappedBefore(bytes, end) : undefined;
    if (!inLines) return start;
    const { length } = inLines.bytes;
    const place = this.#cut.beginningBefore(inLines.bytes, length, this.#minBytes);
    return place < 0 ? -1 : inLines.placeOf(place);
  }

  #endingAfter(bytes: Buffer, start: number): number {
    const end = this.#cut.endingAfter(bytes, start);
    const inLines = end < 0 ? unwrappedAfter(bytes, start) : undefined;
    if (!inLines) return end;
    const place = this.#cut.endingAfter(inLines.bytes, 0);
    return place < 0 ? -1 : inLines.placeOf(place - 1) + 1;
  }
}

function bytesOf(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (one) => one.charCodeAt(0)));
}

/** Possible ends of the text before a mark. */
function endsBefore(bytes: Buffer, mark: number): number[] {
  const ends = [mark];
  const half = mark - replacement.length;
  if (half >= 0 && bytes.compare(replacement, 0, replacement.length, half, mark) === 0) ends.push(half);
  for (let at = mark; mark - at < maxBetweenBytes && betweenBefore.has(bytes[at - 1] ?? 0); at -= 1)
    ends.push(at - 1);
  for (const escaped of escapedBetween) {
    const end = mark - escaped.length;
    if (end >= 0 && bytes.compare(escaped, 0, escaped.length, end, mark) === 0) ends.push(end);
  }
  return ends;
}

function startsAfter(bytes: Buffer, mark: number): number[] {
  const starts = [mark];
  const half = mark + replacement.length;
  if (half <= bytes.length && bytes.compare(replacement, 0, replacement.length, mark, half) === 0) {
    starts.push(half);
  }
  for (let at = mark; at - mark < maxBetweenBytes && betweenAfter.has(bytes[at] ?? 0); at += 1)
    starts.push(at + 1);
  for (const escaped of escapedBetween) {
    const start = mark + escaped.length;
    if (start <= bytes.length && bytes.compare(escaped, 0, escaped.length, mark, start) === 0)
      starts.push(start);
  }
  return starts;
}

/**
 * The few characters that V8 quotes around an error in a text that is not JSON:
 * `Unexpected token 'o', ..."oken": tok_9fQ2x7"... is not valid JSON`.
 */
class JsonErrorShape implements SecretShape {
  readonly anchor = Buffer.from(' is not valid JSON');
  readonly reachBackBytes = 512;
  readonly reachForwardBytes = this.anchor.length;
  readonly #cut: CutSecrets;

  constructor(cut: CutSecrets) {
    this.#cut = cut;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const from = Math.max(0, anchorStart - this.reachBackBytes);
    const before = bytes.toString('latin1', from, anchorStart);
    const message = before.lastIndexOf('Unexpected token ');
    if (message < 0) return none;
    const quoted = /^Unexpected token .{1,40}?, (\.\.\.)?(\\*")(.*)\2(\.\.\.)?$/s.exec(before.slice(message));
    if (!quoted) return none;
    const [, isCutBefore, quote = '', piece = '', isCutAfter] = quoted;
    if (isCutBefore === undefined && isCutAfter === undefined) return none;
    const end = anchorStart - (isCutAfter?.length ?? 0) - quote.length;
    const start = end - piece.length;
    if (this.#cut.isPiece(bytes, start, end)) return [{ start, end }];
    const ranges: SecretRange[] = [];
    const beginning = isCutAfter === undefined ? -1 : this.#cut.beginningBefore(bytes, end);
    if (beginning >= start) ranges.push({ start: beginning, end });
    const ending = isCutBefore === undefined ? -1 : this.#cut.endingAfter(bytes, start);
    if (ending >= 0 && ending <= end) ranges.push({ start, end: ending });
    return ranges;
  }
}

/** Fields of the pages in a trace: after each key press they hold the beginning of the typed text. */
const typedFields: readonly { readonly anchor: string; readonly minBytes: number }[] = [
  { anchor: '"__playwright_value_":"', minBytes: minCutBytes },
  { anchor: '"value":"', minBytes: minBeforeDots },
];

/** A value that is only the beginning of a secret. */
class TypedValueShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes: number;
  readonly #cut: CutSecrets;
  readonly #minBytes: number;

  constructor(cut: CutSecrets, { anchor, minBytes }: (typeof typedFields)[number]) {
    this.anchor = Buffer.from(anchor);
    this.#cut = cut;
    this.#minBytes = minBytes;
    this.reachForwardBytes = this.anchor.length + cut.reachBytes + 1;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const start = anchorStart + this.anchor.length;
    const limit = Math.min(bytes.length, start + this.#cut.reachBytes);
    let end = start;
    while (end < limit && bytes[end] !== 0x22) end += bytes[end] === 0x5c ? 2 : 1;
    if (end >= limit || end - start < this.#minBytes) return none;
    return this.#cut.beginningBefore(bytes, end, this.#minBytes) === start ? [{ start, end }] : none;
  }
}

/** Shapes for the remains of these secrets in truncated or unfinished texts. */
export function cutShapes(cut: CutSecrets): SecretShape[] {
  return [
    ...marks.map((mark) => new CutMarkShape(cut, mark)),
    new JsonErrorShape(cut),
    ...typedFields.map((field) => new TypedValueShape(cut, field)),
  ];
}
