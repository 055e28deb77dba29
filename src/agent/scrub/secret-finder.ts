import { isMaskable, isWord, weakReason } from '@picket/lib/bounds/maskable.ts';
import { AnchorIndex, longestStep } from './shapes/anchor-index.ts';
import { CutSecrets } from './shapes/cut-secrets.ts';
import { cutShapes } from './shapes/cut-shapes.ts';
import { hasPlainMarks, isMark, markShapes, UnmarkedBytes } from './shapes/inserted-marks.ts';
import { packedShapes } from './shapes/packed-shape.ts';
import { lineShapes, secretShapes } from './shapes/secret-shapes.ts';
import type { SecretRange, SecretShape } from './shapes/shape.ts';
import { WholeWord } from './shapes/whole-word.ts';

/** What a byte costs, in nanoseconds: looking for one anchor by itself, and one step of the index. */
const soloCost = 0.2;
const stepCost = 12;
/**
 * A line of a secret of several lines counts by itself when it is at least this long and has no space in it,
 */
const minLineLength = 24;
/** or, when it looks like no word, this long, */
const minOddLineLength = 8;
/** and every line of a key. */
const keyBlock = /-----BEGIN [^-]+-----/;

/** Marks within marks, each in the middle of another. */
const maxMarkDepth = 4;

/** Which of these secret variables have values that cannot be masked, or not within longer words. */
export function unmaskableNames(
  names: readonly string[],
  variables: Readonly<Record<string, string>>,
): string[] {
  return names.filter((name) => {
    const value = variables[name];
    return value !== undefined && value !== '' && weakReason(value) !== undefined;
  });
}

/** What is looked for: secrets without white space at their ends, and lines of long ones. */
export interface SecretValues {
  readonly whole: ReadonlySet<string>;
  readonly lines: ReadonlySet<string>;
}

/**
 * The values to look for: white space at the ends does not count, and the lines of a long key also count one
 * by one.
 */
export function secretValues(secrets: Iterable<string>): SecretValues {
  const whole = new Set<string>();
  const lines = new Set<string>();
  for (const secret of secrets) {
    if (!isMaskable(secret)) continue;
    const text = secret.trim().toWellFormed();
    whole.add(text);
    // Systems of files and programs write an accent with its letter, or behind it.
    for (const form of ['NFC', 'NFD']) whole.add(text.normalize(form));
    const number = numberOf(text);
    if (number !== undefined && isMaskable(number)) whole.add(number);
    if (!secret.includes('\n')) continue;
    const isKey = keyBlock.test(secret);
    for (const line of secret.split(/\r?\n/).map((one) => one.trim())) {
      if (isTelling(line, isKey)) lines.add(line.toWellFormed());
    }
  }
  return { whole, lines: lines.difference(whole) };
}

/** What is left of a number once a program has read it: no zeros before it, no more than 17 digits. */
function numberOf(text: string): string | undefined {
  return /^[+-]?\d+(?:\.\d+)?$/.test(text) ? String(Number(text)) : undefined;
}

function isTelling(line: string, isKey: boolean): boolean {
  if (/\s/.test(line) || !isMaskable(line)) return false;
  if (line.length >= minLineLength || isKey) return true;
  return line.length >= minOddLineLength && /\d/.test(line) && /[A-Za-z]/.test(line);
}

/**
 * Finds secrets in bytes, in whatever form they stand there.
 *
 * 1. VALUES: of each secret its text without white space at the ends, and the lines of a long key one by one.
 * Too short or too
 *    common ones are left out (`isMaskable`).
 * 2. SHAPES: each value is written in every form in which it may stand: plain, escaped for JSON, URLs and
 * HTML, in base64 at each of
 *    three offsets, in hex (`shapes/secret-shapes.ts`). What is left of a value where a text was cut, credential
 *    headers and user info of URLs are shapes as well.
 * 3. ANCHORS: each shape names a few bytes that must be there. One pass over the bytes with an index of all
 * anchors, in steps as
 *    long as the shortest anchor allows, finds where to look; shapes with short anchors are looked for one by one.
 * 4. RANGES: at each hit the shape says from where to where the secret stands. Ranges that overlap become
 * one.
 *
 * What is done with the ranges differs: `Scrubber` masks texts of a report, `files/` masks files and
 * archives, piece by piece.
 */
export class SecretFinder {
  readonly #index: AnchorIndex | undefined;
  /** Shapes with short anchors, which would shorten the steps of the index for all others. */
  readonly #solo: readonly SecretShape[];
  /** How many bytes one secret can take at most, however it is written. */
  readonly reachBytes: number;
  /** Knows what is left of a secret where a text was cut. */
  readonly cut: CutSecrets;

  /**
   * @param secrets those that `isMaskable` refuses are skipped.
   * @param others what else is looked for.
   */
  constructor(secrets: Iterable<string>, others: readonly SecretShape[] = []) {
    const { whole, lines } = secretValues(secrets);
    this.cut = new CutSecrets(whole.union(lines));
    const shapes = [...[...whole].flatMap(shapesOf), ...[...lines].flatMap(lineShapes), ...others];
    if (whole.size > 0) shapes.push(...cutShapes(this.cut));
    if (shapes.length > 0) {
      shapes.push(...packedShapes((bytes) => this.find(bytes).length > 0), ...markShapes());
    }
    shapes.sort((a, b) => a.anchor.length - b.anchor.length);
    const soloCount = cheapestSoloCount(shapes);
    this.#solo = shapes.slice(0, soloCount);
    this.#index = soloCount < shapes.length ? new AnchorIndex(shapes.slice(soloCount)) : undefined;
    this.reachBytes = shapes.reduce(
      (reach, { reachBackBytes, reachForwardBytes }) => Math.max(reach, reachBackBytes + reachForwardBytes),
      0,
    );
  }

  /** Whether there is nothing to look for. */
  get isEmpty(): boolean {
    return this.reachBytes === 0;
  }

  /** Where secrets stand, in order and without overlaps. */
  find(bytes: Buffer): SecretRange[] {
    const { ranges, hasMarks } = this.#search(bytes);
    if (hasMarks || (!this.isEmpty && hasPlainMarks(bytes))) {
      // Once more without what was put into the middle of texts, such as the colours of a comparison.
      for (const range of this.#searchUnmarked(bytes)) ranges.push(range);
    }
    return ranges.length > 1 ? merged(ranges) : ranges;
  }

  /** Marks may stand within marks, as in a comparison that colours a text with colours. */
  #searchUnmarked(bytes: Buffer, depth = 1): readonly SecretRange[] {
    const unmarked = new UnmarkedBytes(bytes);
    if (unmarked.bytes.length === bytes.length) return [];
    const { ranges } = this.#search(unmarked.bytes);
    if (depth < maxMarkDepth) ranges.push(...this.#searchUnmarked(unmarked.bytes, depth + 1));
    return ranges.map((range) => unmarked.original(range));
  }

  #search(bytes: Buffer): { readonly ranges: SecretRange[]; readonly hasMarks: boolean } {
    const ranges: SecretRange[] = [];
    let hasMarks = false;
    const look = (shape: SecretShape, at: number) => {
      if (isMark(shape)) hasMarks = true;
      for (const range of shape.rangesAt(bytes, at)) ranges.push(range);
    };
    for (const shape of this.#solo) {
      for (let at = bytes.indexOf(shape.anchor); at >= 0; at = bytes.indexOf(shape.anchor, at + 1)) {
        look(shape, at);
      }
    }
    this.#index?.forEachAnchor(bytes, look);
    return { ranges, hasMarks };
  }
}

function shapesOf(secret: string): readonly SecretShape[] {
  const shapes = secretShapes(secret);
  return isWord(secret) ? shapes.map((shape) => new WholeWord(shape, secret)) : shapes;
}

/** How many of the shapes, shortest anchor first, are better looked for one by one than through the index. */
function cheapestSoloCount(shapes: readonly SecretShape[]): number {
  let best = shapes.length;
  let lowest = best * soloCost;
  for (let count = 0; count < shapes.length && count * soloCost < lowest; count += 1) {
    const cost = count * soloCost + stepCost / longestStep(shapes[count]?.anchor.length ?? 0);
    if (cost < lowest) {
      lowest = cost;
      best = count;
    }
  }
  return best;
}

function merged(ranges: SecretRange[]): SecretRange[] {
  ranges.sort((a, b) => a.start - b.start);
  const result: { start: number; end: number }[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last && range.start < last.end) last.end = Math.max(last.end, range.end);
    else result.push({ ...range });
  }
  return result;
}
