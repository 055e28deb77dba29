import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { type Coverage, coverageOf, type SlotOutcome } from '@picket/protocol/runs/coverage.ts';
import { decodeSegments, type SlotSegment, type Span, slotsWithin } from './slot-segments.ts';

/** Counts of slots in one interval, by location and outcome. */
type Counts = Map<string, Map<SlotOutcome, number>>;

/** Same for each interval, by its start. */
type CountsByInterval = Map<number, Counts>;

/**
 * Slots of a check on one day, or its unsealed slots. Windows mostly contain a whole day: then the counts, computed
 * once per interval length, suffice, and the segments are not visited.
 */
export class DaySlots {
  readonly #segments: readonly SlotSegment[];
  readonly #from: number;
  readonly #to: number;
  readonly #counts = new Map<number | null, CountsByInterval>();

  constructor(segments: readonly SlotSegment[]) {
    this.#segments = segments;
    this.#from = segments.reduce((least, { firstAt }) => Math.min(least, firstAt), Number.POSITIVE_INFINITY);
    this.#to = segments.reduce((most, segment) => Math.max(most, lastAtOf(segment) + 1), 0);
  }

  /** Due time of the first evaluated slot in a span; null if it has no such slot. */
  firstEvaluatedAt(span: Span): number | null {
    const first = this.#segments.reduce((least, segment) => {
      if (segment.outcome !== 'evaluated' || segment.firstAt >= least) return least;
      return Math.min(least, slotsWithin(segment, span)?.firstAt ?? least);
    }, Number.POSITIVE_INFINITY);
    return Number.isFinite(first) ? first : null;
  }

  /** Approximate memory usage. */
  get sizeBytes(): number {
    return 200 + 120 * this.#segments.length;
  }

  /** Slots due in a span, by interval; if the length is null, all in one interval that begins at 0. */
  within(span: Span, intervalMs: number | null): CountsByInterval {
    if (this.#from < span.from || this.#to > span.to) return counted(this.#segments, span, intervalMs);
    let counts = this.#counts.get(intervalMs);
    if (!counts) {
      counts = counted(this.#segments, span, intervalMs);
      this.#counts.set(intervalMs, counts);
    }
    return counts;
  }
}

/** Cached days, keyed by their encoded bytes, so that entries are never stale. */
export type DayCache = LruMap<string, DaySlots>;

export function dayCache(maxBytes: number): DayCache {
  return new LruMap(maxBytes, (day, key) => day.sizeBytes + key.length);
}

/** Due time of the first evaluated slot in a span, across the given days. */
export function firstEvaluatedAt(days: readonly DaySlots[], span: Span): number | null {
  const found = days.flatMap((day) => day.firstEvaluatedAt(span) ?? []);
  return found.length === 0 ? null : leastOf(found);
}

export function decodedDay(cache: DayCache, content: Uint8Array): DaySlots {
  const key = Buffer.from(content).toString('latin1');
  return cache.getOrMake(key, () => new DaySlots(decodeSegments(content)));
}

function counted(segments: readonly SlotSegment[], span: Span, intervalMs: number | null): CountsByInterval {
  const found: CountsByInterval = new Map();
  for (const whole of segments) {
    const segment = slotsWithin(whole, span);
    if (!segment) continue;
    const { location, outcome, firstAt } = segment;
    if (intervalMs === null) {
      add(found, 0, location, outcome, segment.count);
      continue;
    }
    const lastAt = lastAtOf(segment);
    for (let at = Math.floor(firstAt / intervalMs) * intervalMs; at <= lastAt; at += intervalMs) {
      const part = slotsWithin(segment, { from: at, to: at + intervalMs });
      if (part) add(found, at, location, outcome, part.count);
    }
  }
  return found;
}

function add(
  found: CountsByInterval,
  at: number,
  location: string,
  outcome: SlotOutcome,
  count: number,
): void {
  const interval = entryOf(found, at, () => new Map<string, Map<SlotOutcome, number>>());
  const own = entryOf(interval, location, () => new Map<SlotOutcome, number>());
  own.set(outcome, (own.get(outcome) ?? 0) + count);
}

/** Outcomes of the slots in a span, in total for one location (null: all), and by location. */
export function coverageOfDays(
  days: readonly DaySlots[],
  span: Span,
  location: string | null,
): { readonly total: Coverage; readonly byLocation: Readonly<Record<string, Coverage>> } {
  const pairs = new Map<string, (readonly [SlotOutcome, number])[]>();
  for (const day of days) {
    for (const counts of day.within(span, null).values()) {
      for (const [name, own] of counts) {
        if (location === null || name === location) entryOf(pairs, name, () => []).push(...own);
      }
    }
  }
  return {
    total: coverageOf([...pairs.values()].flat()),
    byLocation: Object.fromEntries([...pairs].map(([name, own]) => [name, coverageOf(own)])),
  };
}

/** Same for each interval of a span with any due slot. Intervals begin at multiples of their length. */
export function coverageByInterval(
  days: readonly DaySlots[],
  span: Span,
  wanted: {
    /** Null: all. */
    readonly location: string | null;
    readonly intervalMs: number;
    readonly isByLocation?: boolean | undefined;
  },
): {
  readonly at: number;
  readonly coverage: Coverage;
  readonly byLocation?: Readonly<Record<string, Coverage>>;
}[] {
  const { location, intervalMs, isByLocation } = wanted;
  const intervals = new Map<number, Map<string, (readonly [SlotOutcome, number])[]>>();
  for (const day of days) {
    for (const [at, counts] of day.within(span, intervalMs)) {
      for (const [name, own] of counts) {
        if (location !== null && name !== location) continue;
        const interval = entryOf(intervals, at, () => new Map<string, (readonly [SlotOutcome, number])[]>());
        entryOf(interval, name, () => []).push(...own);
      }
    }
  }
  return [...intervals]
    .sort(([one], [two]) => one - two)
    .map(([at, pairs]) => {
      const coverage = coverageOf([...pairs.values()].flat());
      if (!isByLocation) return { at, coverage };
      const byLocation = [...pairs].map(([name, own]) => [name, coverageOf(own)] as const);
      return { at, coverage, byLocation: Object.fromEntries(byLocation) };
    });
}

function lastAtOf({ firstAt, strideMs, count }: SlotSegment): number {
  return firstAt + (count - 1) * strideMs;
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
