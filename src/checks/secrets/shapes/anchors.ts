import { maxAnchorBytes, minAnchorBytes } from './shape.ts';

/** A piece of a text that hardly any encoding changes: letters and digits. */
export interface Anchor {
  readonly start: number;
  readonly text: string;
}

const alphanumeric = /[A-Za-z0-9]+/g;
/**
 * Anchors of this length are found about as fast as longer ones, and an early anchor keeps the part before it short.
 */
export const goodAnchorBytes = 8;
/** Runs further apart are rarely on one line. */
const maxApart = 4;
/** Enough to choose from; a long secret has thousands. */
const maxRuns = 24;

/**
 * Chooses two neighbouring pieces, so that a line break within one leaves the other whole: lines are longer than both
 * together. Returns one if there is no pair, and none if all are too short.
 */
export function anchorsIn(text: string): readonly Anchor[] {
  const runs: Anchor[] = [];
  for (const match of text.matchAll(alphanumeric)) {
    if (match[0].length >= minAnchorBytes) runs.push({ start: match.index, text: match[0] });
    if (runs.length === maxRuns) break;
  }
  let best: readonly [Anchor, Anchor] | undefined;
  const take = (first: Anchor | undefined, second: Anchor | undefined) => {
    if (first && second && (!best || isBetter([first, second], best))) best = [first, second];
  };
  for (const [index, run] of runs.entries()) {
    const [first, second] = halves(run);
    if (second && second.text.length >= minAnchorBytes) take(first, second);
    for (const next of runs.slice(index + 1, index + maxApart)) take(run, next);
  }
  if (best) return best.map(shortened);
  const longest = runs.toSorted((a, b) => b.text.length - a.text.length)[0];
  return longest ? [shortened(longest)] : [];
}

/** The beginning and the end of a run, which share at most one character: no line break can be in both. */
function halves({ start, text }: Anchor): readonly [Anchor, Anchor] {
  const length = Math.min(goodAnchorBytes, Math.floor((text.length + 1) / 2));
  const second = Math.min(length, text.length - length);
  return [
    { start, text: text.slice(0, length) },
    { start: start + second, text: text.slice(second, second + length) },
  ];
}

/** The first piece that is long enough, or else the longest; undefined if all are too short. */
export function anchorIn(text: string, minBytes = minAnchorBytes): Anchor | undefined {
  let best: Anchor | undefined;
  for (const match of text.matchAll(alphanumeric)) {
    const found = shortened({ start: match.index, text: match[0] });
    if (found.text.length >= goodAnchorBytes) return found;
    if (found.text.length >= minBytes && found.text.length > (best?.text.length ?? 0)) best = found;
  }
  return best;
}

/** Prefers the pair whose shorter piece is longer, then the pair with the shorter span. */
function isBetter(pair: readonly [Anchor, Anchor], other: readonly [Anchor, Anchor]): boolean {
  const difference = shorterLength(pair) - shorterLength(other);
  return difference > 0 || (difference === 0 && span(pair) < span(other));
}

function shorterLength([first, second]: readonly [Anchor, Anchor]): number {
  return Math.min(goodAnchorBytes, first.text.length, second.text.length);
}

function span([first, second]: readonly [Anchor, Anchor]): number {
  return second.start + Math.min(second.text.length, goodAnchorBytes) - first.start;
}

function shortened({ start, text }: Anchor): Anchor {
  return { start, text: text.slice(0, maxAnchorBytes) };
}
