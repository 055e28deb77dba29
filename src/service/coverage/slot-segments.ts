import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { SlotOutcome } from '@picket/protocol/runs/coverage.ts';

/**
 * Slots of one location with the same outcome and a constant interval. Slots lie on a grid, so a day without incidents
 * is one segment, and any window can be counted to the millisecond without ledger records.
 */
export interface SlotSegment {
  readonly location: string;
  readonly outcome: SlotOutcome;
  /** When the first of them was due, in epoch milliseconds. */
  readonly firstAt: number;
  /** Milliseconds between two slots; 0 if there is only one. */
  readonly strideMs: number;
  readonly count: number;
}

/** Epoch milliseconds; the end is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Part of a segment that was due in a span, or null. */
export function slotsWithin(segment: SlotSegment, { from, to }: Span): SlotSegment | null {
  const { firstAt, strideMs, count } = segment;
  if (count === 1 || strideMs <= 0) return firstAt >= from && firstAt < to ? segment : null;
  const first = Math.max(0, Math.ceil((from - firstAt) / strideMs));
  const end = Math.min(count, Math.ceil((to - firstAt) / strideMs));
  if (end <= first) return null;
  const isOne = end - first === 1;
  return {
    ...segment,
    firstAt: firstAt + first * strideMs,
    strideMs: isOne ? 0 : strideMs,
    count: end - first,
  };
}

/** Merges segments, sorted by location and time, where they are adjacent. */
export function joined(segments: readonly SlotSegment[]): SlotSegment[] {
  const whole: SlotSegment[] = [];
  const ordered = segments.toSorted((one, two) =>
    one.location === two.location ? one.firstAt - two.firstAt : one.location < two.location ? -1 : 1,
  );
  for (const segment of ordered) {
    const last = whole.at(-1);
    const longer = last && joinedPair(last, segment);
    if (longer) whole[whole.length - 1] = longer;
    else whole.push(segment);
  }
  return whole;
}

function joinedPair(last: SlotSegment, next: SlotSegment): SlotSegment | null {
  if (last.location !== next.location || last.outcome !== next.outcome) return null;
  const lastAt = last.firstAt + (last.count - 1) * last.strideMs;
  const strideMs = next.firstAt - lastAt;
  const fits = (segment: SlotSegment) => segment.count === 1 || segment.strideMs === strideMs;
  if (strideMs <= 0 || !fits(last) || !fits(next)) return null;
  return { ...last, strideMs, count: last.count + next.count };
}

/** Encodes segments: their texts, and five numbers each. */
export function encodeSegments(segments: readonly SlotSegment[]): Buffer {
  const texts: string[] = [];
  const placeOf = (text: string) => {
    const known = texts.indexOf(text);
    return known === -1 ? texts.push(text) - 1 : known;
  };
  let before = 0;
  const numbers = segments.flatMap(({ location, outcome, firstAt, strideMs, count }) => {
    const sinceLastMs = firstAt - before;
    before = firstAt;
    return [placeOf(location), placeOf(outcome), sinceLastMs, strideMs, count];
  });
  return deflateRawSync(JSON.stringify([texts, numbers]));
}

export function decodeSegments(bytes: Uint8Array): SlotSegment[] {
  const [texts, numbers] = JSON.parse(inflateRawSync(bytes).toString()) as [string[], number[]];
  const segments: SlotSegment[] = [];
  let firstAt = 0;
  for (let at = 0; at < numbers.length; at += 5) {
    firstAt += numbers[at + 2] ?? 0;
    segments.push({
      location: texts[numbers[at] ?? 0] ?? '',
      outcome: (texts[numbers[at + 1] ?? 0] ?? '') as SlotOutcome,
      firstAt,
      strideMs: numbers[at + 3] ?? 0,
      count: numbers[at + 4] ?? 0,
    });
  }
  return segments;
}
