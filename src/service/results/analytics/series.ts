import type { Aggregation } from '@picket/protocol/results/analytics.ts';
import {
  attemptsColumn,
  dimensionColumn,
  type Frame,
  locationColumn,
  ordinalColumn,
  statusColumn,
  timeColumn,
} from '../columns/result-frame.ts';
import { aggregate } from './aggregation.ts';

/** A requested value: a column, and the aggregation of its values; null returns the value of each result. */
export interface Wanted {
  /** Name in the request and in responses, such as `responseTime_p95`. */
  readonly key: string;
  readonly of:
    | { readonly kind: 'availability' }
    | { readonly kind: 'retries' }
    | {
        readonly kind: 'metric';
        readonly column: string;
        readonly aggregation: Aggregation | null;
        readonly isPerItem: boolean;
      };
}

/** A query on the final results of one check. Plain data, because it is sent to another thread. */
export interface AnalyticsQuery {
  readonly checkId: string;
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
  readonly wanted: readonly Wanted[];
  /** By location, by the type's dimension, or by the position of an item in its result. */
  readonly groupBy: 'location' | 'dimension' | 'item' | null;
  readonly intervalMs: number | null;
  /** Only results with one of these statuses, or with one of these values of the type's dimension. */
  readonly filter: { readonly by: 'status' | 'dimension'; readonly texts: readonly string[] } | null;
  /** Range of rows returned for each series. */
  readonly offset: number;
  readonly limit: number;
}

export interface SeriesRow {
  /** Start of the bucket, or the time of the result; null for the whole window. */
  readonly at: number | null;
  readonly values: readonly (number | null)[];
}

/** Rows of one group. */
export interface Series {
  /** Common value of the group; null without groups. */
  readonly key: string | null;
  /** For groups of items: the text of the item (the address of a page) in the newest result. */
  readonly text: string | null;
  readonly rows: readonly SeriesRow[];
}

/** Columns that a query needs. */
export function columnsFor(query: AnalyticsQuery): Set<string> {
  const names = new Set<string>([ordinalColumn]);
  for (const { of } of query.wanted) {
    if (of.kind === 'availability') names.add(statusColumn);
    else if (of.kind === 'retries') names.add(attemptsColumn);
    else names.add(of.column);
  }
  if (query.filter) names.add(filterColumn(query.filter.by));
  if (query.intervalMs !== null || isRaw(query)) names.add(timeColumn);
  if (query.groupBy === 'location') names.add(locationColumn);
  if (query.groupBy === 'dimension' || query.groupBy === 'item') names.add(dimensionColumn);
  return names;
}

function filterColumn(by: 'status' | 'dimension'): string {
  return by === 'status' ? statusColumn : dimensionColumn;
}

/** Whether the query requests values of individual results rather than aggregates. */
function isRaw(query: AnalyticsQuery): boolean {
  return query.wanted.some(({ of }) => of.kind === 'metric' && of.aggregation === null);
}

/** Answers a query from its results. */
export function answer(query: AnalyticsQuery, frame: Frame): Series[] {
  const groups = groupRows(query, frame);
  // Values of the result as a whole are repeated in each of its rows; they count once, or once per group of items.
  const ordinals = query.groupBy === 'item' ? undefined : frame.numbers.get(ordinalColumn);
  const series: Series[] = [];
  for (const { key, text, rows } of groups) {
    const page = isRaw(query)
      ? resultsOf(query, rows, ordinals)
      : bucketsOf(query, frame, rows).slice(query.offset, query.offset + query.limit);
    series.push({
      key,
      text,
      rows: page.map((bucket) => ({
        at: bucket.at(frame),
        values: valuesOf(query, frame, bucket.rows, ordinals),
      })),
    });
  }
  return series;
}

/** Rows of a frame in order of time: a range of positions in a list, or, without a list, a range of rows. */
interface RowSet {
  readonly list: Uint32Array | null;
  readonly from: number;
  readonly to: number;
}

function rowAt({ list }: RowSet, place: number): number {
  return list ? (list[place] ?? 0) : place;
}

interface Group {
  readonly key: string | null;
  readonly text: string | null;
  readonly rows: RowSet;
}

const noGroups: readonly Group[] = [{ key: null, text: null, rows: { list: null, from: 0, to: 0 } }];

/** Rows that pass the filter, by group. Without grouping, one group without a key. */
function groupRows(query: AnalyticsQuery, frame: Frame): readonly Group[] {
  const { rowCount } = frame;
  const { filter } = query;
  if (!filter && query.groupBy === null) {
    return [{ key: null, text: null, rows: { list: null, from: 0, to: rowCount } }];
  }
  const filtered = filter ? frame.texts.get(filterColumn(filter.by)) : undefined;
  const keeps = filtered?.texts.map((text) => filter?.texts.includes(text) ?? true);
  const codes = new Int32Array(rowCount);
  const keys = groupCodes(query, frame, codes);
  const counts = new Uint32Array(keys.length);
  for (let row = 0; row < rowCount; row += 1) {
    if (keeps && filtered && !keeps[filtered.index[row] ?? 0]) codes[row] = -1;
    const code = codes[row] ?? -1;
    if (code >= 0) counts[code] = (counts[code] ?? 0) + 1;
  }
  const members = keys.map((_key, code) => new Uint32Array(counts[code] ?? 0));
  const filled = new Uint32Array(keys.length);
  for (let row = 0; row < rowCount; row += 1) {
    const code = codes[row] ?? -1;
    const rows = members[code];
    if (!rows) continue;
    rows[filled[code] ?? 0] = row;
    filled[code] = (filled[code] ?? 0) + 1;
  }
  const texts = query.groupBy === 'item' ? frame.texts.get(dimensionColumn) : undefined;
  const groups = keys.flatMap((key, code): Group[] => {
    const list = members[code];
    if (!list || list.length === 0) return [];
    const text = texts?.texts[texts.index[list.at(-1) ?? 0] ?? 0] ?? null;
    return [{ key, text, rows: { list, from: 0, to: list.length } }];
  });
  if (groups.length === 0) return noGroups;
  return groups.sort((left, right) => compareKeys(left.key ?? '', right.key ?? ''));
}

/** Assigns the number of its group to each row, -1 for none; returns the keys of the groups. */
function groupCodes(query: AnalyticsQuery, frame: Frame, codes: Int32Array): (string | null)[] {
  if (query.groupBy === null) return [null];
  if (query.groupBy === 'item') {
    const ordinals = frame.numbers.get(ordinalColumn);
    let most = -1;
    const texts = frame.texts.get(dimensionColumn);
    for (let row = 0; row < frame.rowCount; row += 1) {
      // A result without items has one row, which is not an item.
      const isItem = texts !== undefined && texts.texts[texts.index[row] ?? 0] !== '';
      codes[row] = isItem ? (ordinals?.[row] ?? 0) : -1;
      most = Math.max(most, codes[row] ?? 0);
    }
    return Array.from({ length: most + 1 }, (_none, ordinal) => String(ordinal));
  }
  const column = frame.texts.get(query.groupBy === 'location' ? locationColumn : dimensionColumn);
  if (!column) return [];
  for (let row = 0; row < frame.rowCount; row += 1) {
    const place = column.index[row] ?? 0;
    // A result without a value (no status code, because there was no response) belongs to no group.
    codes[row] = column.texts[place] === '' ? -1 : place;
  }
  return [...column.texts];
}

function compareKeys(left: string, right: string): number {
  const [leftNumber, rightNumber] = [Number(left), Number(right)];
  if (!Number.isNaN(leftNumber) && !Number.isNaN(rightNumber)) return leftNumber - rightNumber;
  return left < right ? -1 : 1;
}

interface Bucket {
  readonly rows: RowSet;
  at(frame: Frame): number | null;
}

/** Rows of the whole window, or of each non-empty interval. Intervals begin at multiples of their length. */
function bucketsOf(query: AnalyticsQuery, frame: Frame, rows: RowSet): Bucket[] {
  const { intervalMs } = query;
  if (rows.from === rows.to) return [];
  if (intervalMs === null) return [{ rows, at: () => null }];
  const times = frame.numbers.get(timeColumn);
  const indexOf = (place: number) => Math.floor((times?.[rowAt(rows, place)] ?? 0) / intervalMs);
  const buckets: Bucket[] = [];
  let start = rows.from;
  let index = indexOf(start);
  for (let place = start + 1; place <= rows.to; place += 1) {
    const next = place < rows.to ? indexOf(place) : Number.NaN;
    if (next === index) continue;
    const startsAt = index * intervalMs;
    buckets.push({ rows: { ...rows, from: start, to: place }, at: () => startsAt });
    start = place;
    index = next;
  }
  return buckets;
}

/** Rows of each result on the page. */
function resultsOf(query: AnalyticsQuery, rows: RowSet, ordinals: Float64Array | undefined): Bucket[] {
  const results: Bucket[] = [];
  let start = rows.from;
  let count = 0;
  for (let place = start + 1; place <= rows.to; place += 1) {
    const isPart = place < rows.to && (ordinals?.[rowAt(rows, place)] ?? 0) > 0;
    if (isPart) continue;
    const own = { ...rows, from: start, to: place };
    start = place;
    count += 1;
    if (count <= query.offset) continue;
    results.push({
      rows: own,
      at: (frame) => frame.numbers.get(timeColumn)?.[rowAt(own, own.from)] ?? null,
    });
    if (results.length === query.limit) break;
  }
  return results;
}

/** Value of each requested metric over the given rows. */
function valuesOf(
  query: AnalyticsQuery,
  frame: Frame,
  rows: RowSet,
  ordinals: Float64Array | undefined,
): (number | null)[] {
  const aggregated = new Map<string, Map<Aggregation, number | null>>();
  const byColumn = Map.groupBy(query.wanted, ({ of }) => (of.kind === 'metric' ? of.column : ''));
  for (const [column, wanted] of byColumn) {
    const metrics = wanted.flatMap(({ of }) => (of.kind === 'metric' ? [of] : []));
    const [first] = metrics;
    if (!first) continue;
    const values = measured(frame.numbers.get(column), rows, first.isPerItem ? undefined : ordinals);
    // Value of a single result with several items (pages): their average.
    aggregated.set(column, aggregate(values, [...new Set(metrics.map((of) => of.aggregation ?? 'avg'))]));
  }
  return query.wanted.map(({ of }) => {
    if (of.kind === 'metric') return aggregated.get(of.column)?.get(of.aggregation ?? 'avg') ?? null;
    return of.kind === 'retries' ? retries(frame, rows, ordinals) : availability(frame, rows, ordinals);
  });
}

/** Values of a column in the given rows; NaN if not measured. */
function measured(
  column: Float64Array | undefined,
  rows: RowSet,
  ordinals: Float64Array | undefined,
): Float64Array {
  const { list, from, to } = rows;
  if (!column) return new Float64Array();
  if (!list && !ordinals) return column.subarray(from, to);
  const values = new Float64Array(to - from);
  let count = 0;
  for (let place = from; place < to; place += 1) {
    const row = list ? (list[place] ?? 0) : place;
    if (ordinals && (ordinals[row] ?? 0) > 0) continue;
    values[count] = column[row] ?? Number.NaN;
    count += 1;
  }
  return values.subarray(0, count);
}

function retries(frame: Frame, rows: RowSet, ordinals: Float64Array | undefined): number {
  const attempts = frame.numbers.get(attemptsColumn);
  let sum = 0;
  for (let place = rows.from; place < rows.to; place += 1) {
    const row = rowAt(rows, place);
    if (!((ordinals?.[row] ?? 0) > 0)) sum += attempts?.[row] ?? 0;
  }
  return sum;
}

/**
 * Percentage of results that did not fail, among those that say something about the target. Equals the success ratio of
 * reports (report-aggregates.ts); null without such results.
 */
function availability(frame: Frame, rows: RowSet, ordinals: Float64Array | undefined): number | null {
  const status = frame.texts.get(statusColumn);
  const passed = status?.texts.indexOf('success') ?? -1;
  const unknown = status?.texts.indexOf('error') ?? -1;
  let count = 0;
  let good = 0;
  for (let place = rows.from; place < rows.to; place += 1) {
    const row = rowAt(rows, place);
    if ((ordinals?.[row] ?? 0) > 0) continue;
    const code = status?.index[row] ?? -1;
    if (code === unknown && unknown >= 0) continue;
    count += 1;
    if (code === passed) good += 1;
  }
  return count === 0 ? null : (good / count) * 100;
}
