import type { SecretRange, SecretShape } from './shape.ts';

const escapeByte = 0x1b;
/**
 * Marks inserted into a text to highlight parts of it: terminal colour codes, literal or escaped once or more, and the
 * HTML elements that replace them in reports.
 */
const marks = new RegExp(
  [
    String.raw`(?:${String.fromCodePoint(escapeByte)}|((?:\\|%(?:25){0,4}5c){1,64})(?:u001b|u\{1b\}|x1b|033)|%1b|&(?:amp;)?#(?:27|x1b);)(?:\[|%5b)[\d;?]{0,24}[A-Za-z]`,
    String.raw`(?:<|&lt;|\\{1,64}u003c|%3c)(?:\/|%2f)?(?:span|mark)\b(?:(?!&gt;|\\{1,64}u003e|%3e)[^<>]){0,300}(?:>|&gt;|\\{1,64}u003e|%3e)`,
  ].join('|'),
  'gi',
);
/** One backslash, literal or percent-encoded. */
const oneBackslash = /\\|%(?:25){0,4}5c/gi;
const lastBackslash = /(?:\\|%(?:25){0,4}5c)$/i;
const maxBackslashBytes = 16;
/**
 * Anchors that show that a text contains marks; the literal escape character is searched separately, because one byte
 * is found quickly. Each is as long as possible: short anchors would slow down the search for all secrets.
 */
const escapedAnchors = ['b', 'B'].flatMap((letter) => [
  // In JSON, any code.
  ...Array.from('0123456789', (digit) => `\\u001${letter}[${digit}`),
  // In code and forms, the codes that end a colour.
  ...['0', '22', '23', '24', '27', '29', '39', '49'].flatMap((code) => [
    `\\x1${letter}[${code}m`,
    `%1${letter}%5${letter}${code}m`,
    `&#x1${letter};[${code}m`,
  ]),
  ...['\\033', '&#27;'].map((escaped) => `${escaped}[27m`),
  ...['%5C', '%5c'].flatMap((escaped) => [`${escaped}u001${letter}`, `${escaped}x1${letter}`]),
]);
const anchors = [
  ...escapedAnchors,
  ...['span', 'mark'].flatMap((name) => [
    `</${name}>`,
    `&lt;/${name}&gt;`,
    `u003c/${name}`,
    `u003C/${name}`,
    `%3C%2F${name}`,
    `%3c%2f${name}`,
  ]),
];

/** A shape, so that marks are found in the same pass over the bytes. */
class MarkShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes: number;

  constructor(anchor: string) {
    this.anchor = Buffer.from(anchor);
    this.reachForwardBytes = anchor.length;
  }

  rangesAt(): readonly SecretRange[] {
    return [];
  }
}

export function markShapes(): SecretShape[] {
  return anchors.map((anchor) => new MarkShape(anchor));
}

export function isMark(shape: SecretShape): boolean {
  return shape instanceof MarkShape;
}

/** Whether the bytes contain literal colour codes. */
export function hasPlainMarks(bytes: Buffer): boolean {
  return bytes.includes(escapeByte);
}

/**
 * Finds which of a row of backslashes escape what follows. Escaped once it is one, twice two, then four; each backslash
 * of the preceding text becomes twice as many, so the result is the lowest set bit of the total.
 */
function ownStart(backslashes: string): number {
  const all = [...backslashes.matchAll(oneBackslash)];
  const count = all.length & -all.length;
  return all.at(-count)?.index ?? 0;
}

function endsWithBackslash(part: Buffer | undefined): boolean {
  return (
    part !== undefined &&
    lastBackslash.test(part.toString('latin1', Math.max(0, part.length - maxBackslashBytes)))
  );
}

/** Bytes without their marks, and the original positions. */
export class UnmarkedBytes {
  readonly bytes: Buffer;
  /** Starts of the parts, in the remaining bytes and in the original. */
  readonly #starts: number[] = [];
  readonly #originals: number[] = [];

  constructor(marked: Buffer) {
    const parts: Buffer[] = [];
    let at = 0;
    let length = 0;
    const keep = (to: number) => {
      if (to === at) return;
      parts.push(marked.subarray(at, to));
      this.#starts.push(length);
      this.#originals.push(at);
      length += to - at;
    };
    let seenUpTo = 0;
    for (const { 0: mark, 1: backslashes, index } of marked.toString('latin1').matchAll(marks)) {
      const isNext = index === seenUpTo;
      seenUpTo = index + mark.length;
      // It follows a mark that may be within its backslashes: with that one removed, it is recognized in the next pass.
      if (backslashes !== undefined && isNext && endsWithBackslash(parts.at(-1))) continue;
      keep(index + (backslashes === undefined ? 0 : ownStart(backslashes)));
      at = index + mark.length;
    }
    keep(marked.length);
    this.bytes = Buffer.concat(parts);
  }

  /** Maps a range of the remaining bytes to the original, including the marks within it. */
  original({ start, end }: SecretRange): SecretRange {
    return { start: this.#originalOf(start), end: this.#originalOf(end - 1) + 1 };
  }

  #originalOf(place: number): number {
    let low = 0;
    for (let high = this.#starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= place) low = middle;
      else high = middle;
    }
    return (this.#originals[low] ?? 0) + place - (this.#starts[low] ?? 0);
  }
}
