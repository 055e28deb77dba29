/** The position of a secret in some bytes: from `start` up to, but not including, `end`. */
export interface SecretRange {
  readonly start: number;
  readonly end: number;
}

/**
 * One form in which a secret may be written. Its anchor is a piece that all variants of the form share; at each anchor,
 * `rangesAt` checks whether the secret surrounds it.
 */
export interface SecretShape {
  /** At least `minAnchorBytes` long. */
  readonly anchor: Buffer;
  /** Maximum distance from the start of a match to its anchor, and from the anchor's start to the end of the match. */
  readonly reachBackBytes: number;
  readonly reachForwardBytes: number;
  /** Ranges to remove around the anchor; usually one or none. */
  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[];
}

/** Shorter pieces would match everywhere, and the search would waste its time on candidates. */
export const minAnchorBytes = 4;

const none: readonly SecretRange[] = [];

/** A longer anchor does not make the search faster. */
export const maxAnchorBytes = 24;

/** A form with exactly one spelling. */
export class ExactShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.anchor = bytes.subarray(0, maxAnchorBytes);
    this.reachForwardBytes = bytes.length;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const end = anchorStart + this.#bytes.length;
    if (end > bytes.length || bytes.compare(this.#bytes, 0, this.#bytes.length, anchorStart, end) !== 0) {
      return none;
    }
    return [{ start: anchorStart, end }];
  }
}

/** A character of a secret as a tolerant shape sees it. */
export interface Unit {
  /** Maximum length of its spellings. */
  readonly maxBytes: number;
  /** Ends of its spellings that begin at `at`; usually one or none. Never beyond the bytes. */
  endsAt(bytes: Buffer, at: number): readonly number[];
}

/**
 * A form in which every character has several spellings that may be mixed: some characters of a text escaped once, some
 * twice and some not at all.
 */
export class TolerantShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes: number;
  readonly reachForwardBytes: number;
  readonly #before: readonly Unit[];
  readonly #after: readonly Unit[];
  readonly #covered: Buffer | undefined;

  /**
   * @param anchor replaces units of its own, between those before and those after it.
   * @param covered if these bytes, which start with another shape's anchor, precede the anchor, that shape finds the
   * match.
   */
  constructor(before: readonly Unit[], anchor: Buffer, after: readonly Unit[], covered?: Buffer) {
    this.anchor = anchor;
    this.#covered = covered;
    this.#before = before;
    this.#after = after;
    this.reachBackBytes = sum(before);
    this.reachForwardBytes = anchor.length + sum(after);
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    if (this.#covered && isBefore(bytes, anchorStart, this.#covered)) return none;
    const end = furthestEnd(this.#after, bytes, anchorStart + this.anchor.length);
    if (end === undefined) return none;
    const start = furthestStart(this.#before, bytes, anchorStart);
    return start === undefined ? none : [{ start, end }];
  }
}

function sum(units: readonly Unit[]): number {
  return units.reduce((total, { maxBytes }) => total + maxBytes, 0);
}

function isBefore(bytes: Buffer, at: number, wanted: Buffer): boolean {
  const start = at - wanted.length;
  return start >= 0 && bytes.compare(wanted, 0, wanted.length, start, at) === 0;
}

/**
 * The first position from which the units match in sequence up to `goal`, or undefined. Spellings can only be read
 * forwards, so for each unit, the last one first, it collects the positions from which that unit reaches a position of
 * the next.
 */
function furthestStart(units: readonly Unit[], bytes: Buffer, goal: number): number | undefined {
  let goals = [goal];
  for (let index = units.length - 1; index >= 0; index -= 1) {
    const unit = units[index] as Unit;
    const earliest = Math.max(0, (goals[0] ?? 0) - unit.maxBytes);
    const latest = goals.at(-1) ?? 0;
    const starts: number[] = [];
    for (let at = earliest; at <= latest; at += 1) {
      for (const end of unit.endsAt(bytes, at)) {
        if (!goals.includes(end)) continue;
        starts.push(at);
        break;
      }
    }
    if (starts.length === 0) return undefined;
    goals = starts;
  }
  return goals[0];
}

/**
 * The end of the units if they match in sequence from `from`. If a character has several readings, each is tried; a
 * pair of unit and position that failed is not retried, so the work is linear in the length.
 */
function furthestEnd(units: readonly Unit[], bytes: Buffer, from: number): number | undefined {
  let index = 0;
  let at = from;
  const open: { index: number; at: number }[] = [];
  let seen: Set<string> | undefined;
  for (;;) {
    const unit = units[index];
    if (!unit) return at;
    const ends = unit.endsAt(bytes, at);
    const [first] = ends;
    if (first !== undefined) {
      for (let other = ends.length - 1; other > 0; other -= 1) {
        const next = { index: index + 1, at: ends[other] ?? 0 };
        const key = `${next.index}:${next.at}`;
        seen ??= new Set();
        if (seen.has(key)) continue;
        seen.add(key);
        open.push(next);
      }
      index += 1;
      at = first;
      continue;
    }
    const next = open.pop();
    if (!next) return undefined;
    ({ index, at } = next);
  }
}
