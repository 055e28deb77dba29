import { isMaskable, isWord, weakReason } from '@picket/lib/bounds/maskable.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { AnchorIndex, longestStep } from './shapes/anchor-index.ts';
import { CutSecrets } from './shapes/cut-secrets.ts';
import { cutShapes } from './shapes/cut-shapes.ts';
import { hasPlainMarks, isMark, markShapes, UnmarkedBytes } from './shapes/inserted-marks.ts';
import { packedShapes } from './shapes/packed-shape.ts';
import { lineShapes, secretShapes } from './shapes/secret-shapes.ts';
import type { SecretRange, SecretShape } from './shapes/shape.ts';
import { WholeWord } from './shapes/whole-word.ts';

/** Cost per byte, in nanoseconds: of a search for a single anchor, and of one step of the index. */
const soloCost = 0.2;
const stepCost = 12;
/** A line of a secret of several lines counts by itself if it is at least this long and contains no space, */
const minLineLength = 24;
/** or if it does not look like a word and is this long, */
const minOddLineLength = 8;
/** and every line of a key. */
const keyBlock = /-----BEGIN [^-]+-----/;

/**
 * Shapes of secrets, by their total length in characters. Making them takes nearly all of the time that a finder takes,
 * and most finders share secrets: those of the agent, and of variables that many checks use.
 */
const knownShapes = new LruMap<string, readonly SecretShape[]>(20_000, (_shapes, secret) => secret.length);

/** Maximum nesting of marks within marks. */
const maxMarkDepth = 4;

/** Names of the secret variables whose values cannot be masked, or not within longer words. */
export function unmaskableNames(
  names: readonly string[],
  variables: Readonly<Record<string, string>>,
): string[] {
  return names.filter((name) => {
    const value = variables[name];
    return value !== undefined && value !== '' && weakReason(value) !== undefined;
  });
}

/** Values to search for: secrets without surrounding white space, and lines of long ones. */
export interface SecretValues {
  readonly whole: ReadonlySet<string>;
  readonly lines: ReadonlySet<string>;
}

/**
 * Returns the values to search for: white space at the ends is ignored, and the lines of a long key also count
 * individually.
 */
export function secretValues(secrets: Iterable<string>): SecretValues {
  const whole = new Set<string>();
  const lines = new Set<string>();
  for (const secret of secrets) {
    if (!isMaskable(secret)) continue;
    const text = secret.trim().toWellFormed();
    whole.add(text);
    // File systems and programs write accents composed or decomposed.
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

/** A number as a program prints it: no leading zeros, at most 17 digits. */
function numberOf(text: string): string | undefined {
  return /^[+-]?\d+(?:\.\d+)?$/.test(text) ? String(Number(text)) : undefined;
}

function isTelling(line: string, isKey: boolean): boolean {
  if (/\s/.test(line) || !isMaskable(line)) return false;
  if (line.length >= minLineLength || isKey) return true;
  return line.length >= minOddLineLength && /\d/.test(line) && /[A-Za-z]/.test(line);
}

/**
 * Finds secrets in bytes, in whatever form they appear.
 *
 * 1. VALUES: each secret without surrounding white space, and the lines of a long key individually. Values that are too
 *    short or too common are left out (`isMaskable`).
 * 2. SHAPES: each value in every form in which it may appear: plain, escaped for JSON, URLs and HTML, in Base64 at each
 *    of three offsets, in hex (`shapes/secret-shapes.ts`). Remains of a truncated value, credential headers and user
 *    info of URLs are shapes as well.
 * 3. ANCHORS: each shape names a few bytes that must be present. One pass over the bytes with an index of all anchors,
 *    in steps as long as the shortest anchor allows, finds candidates; shapes with short anchors are searched
 *    individually.
 * 4. RANGES: at each candidate the shape determines the range of the secret. Overlapping ranges are merged.
 *
 * The callers differ: `Scrubber` masks texts of a report, `files/` masks files and archives, in chunks.
 */
export class SecretFinder {
  readonly #index: AnchorIndex | undefined;
  /** Shapes with short anchors, which would shorten the steps of the index for all others. */
  readonly #solo: readonly SecretShape[];
  /** Maximum length of a secret in any spelling, in bytes. */
  readonly reachBytes: number;
  /** Recognizes the remains of a secret in a truncated text. */
  readonly cut: CutSecrets;

  /**
   * @param secrets values that `isMaskable` rejects are skipped.
   * @param others further shapes to search for.
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

  /** Whether there is nothing to search for. */
  get isEmpty(): boolean {
    return this.reachBytes === 0;
  }

  /** Ranges of secrets, in order and without overlaps. */
  find(bytes: Buffer): SecretRange[] {
    const { ranges, hasMarks } = this.#search(bytes);
    if (hasMarks || (!this.isEmpty && hasPlainMarks(bytes))) {
      // Again without marks inserted into texts, such as the colours of a comparison.
      for (const range of this.#searchUnmarked(bytes)) ranges.push(range);
    }
    return ranges.length > 1 ? merged(ranges) : ranges;
  }

  /** Marks may be nested, for example if a comparison colours a text that contains colours. */
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
  return knownShapes.getOrMake(secret, () => madeShapes(secret));
}

function madeShapes(secret: string): readonly SecretShape[] {
  const shapes = secretShapes(secret);
  return isWord(secret) ? shapes.map((shape) => new WholeWord(shape, secret)) : shapes;
}

/** How many of the shapes, shortest anchor first, are cheaper to search individually than through the index. */
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
