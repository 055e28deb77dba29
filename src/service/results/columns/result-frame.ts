import { type MeasuredValues, storedMeasures } from '../analytics/measured-values.ts';
import { measuredFailures } from '../reports/check-report.ts';
import { decodeNumbers, decodeTexts, encodeNumbers, encodeTexts, type TextColumn } from './column-coding.ts';

/** Properties of a result that analytics needs, as returned by the database. */
export interface MeasuredRow {
  readonly created: number;
  readonly run_location: string;
  readonly has_failures: 0 | 1;
  readonly has_errors: 0 | 1;
  readonly attempts: number;
  readonly response_time: number;
  readonly code: string | null;
  /** `MeasuredValues` as JSON; null for results of builds that did not store them. */
  readonly measured: string | null;
}

/** Columns that every frame may have. Names of metrics never contain `@`. */
export const timeColumn = '@time';
export const attemptsColumn = '@attempts';
/** Numbers the items of one result from 0; a row with 0 begins a result. */
export const ordinalColumn = '@ordinal';
export const locationColumn = '@location';
/** `success`, `failure`, or `error` if the monitoring itself was at fault, which says nothing about the target. */
export const statusColumn = '@status';
/** Response time of a result, in its first row, if valid. */
export const responseColumn = '@response';
/** Value of the type's dimension; the empty text if absent. */
export const dimensionColumn = '@dimension';
export const textColumns: readonly string[] = [locationColumn, statusColumn, dimensionColumn];

/**
 * Results as columns, oldest first: a row for each item of each result. A number that was not measured is NaN. An
 * absent column holds only NaN, the empty text, or, for `@ordinal`, 0.
 */
export interface Frame {
  readonly rowCount: number;
  readonly numbers: ReadonlyMap<string, Float64Array>;
  readonly texts: ReadonlyMap<string, TextColumn>;
}

/** Texts beyond the range of the index share the last position. */
const maxTexts = 65_535;
const otherTexts = '(other)';

/** Collects texts into a column. */
class TextColumnWriter {
  readonly #texts: string[] = [];
  readonly #places = new Map<string, number>();
  readonly #index: Uint16Array;

  constructor(rowCount: number) {
    this.#index = new Uint16Array(rowCount);
  }

  placeOf(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const place = Math.min(this.#texts.length, maxTexts);
    if (place < maxTexts) this.#texts.push(text);
    else this.#texts[maxTexts] = otherTexts;
    this.#places.set(text, place);
    return place;
  }

  set(row: number, text: string): void {
    this.#index[row] = this.placeOf(text);
  }

  append(column: TextColumn, start: number): void {
    const places = column.texts.map((text) => this.placeOf(text));
    for (let row = 0; row < column.index.length; row += 1) {
      this.#index[start + row] = places[column.index[row] ?? 0] ?? 0;
    }
  }

  fill(text: string, start: number, end: number): void {
    this.#index.fill(this.placeOf(text), start, end);
  }

  get column(): TextColumn {
    return { texts: this.#texts, index: this.#index };
  }
}

/** A result occupies a row of the columns even if nothing was measured. */
const unmeasured: MeasuredValues = [[null, {}]];

/** Converts rows, oldest first, into columns. */
export function frameOf(rows: readonly MeasuredRow[]): Frame {
  const entries = rows.flatMap((row) => {
    const values: MeasuredValues = row.measured === null ? unmeasured : storedMeasures(row.measured);
    return values.map(([dimension, metrics], ordinal) => ({ row, ordinal, dimension, metrics }));
  });
  const numbers = new Map<string, Float64Array>();
  const set = (name: string, at: number, value: number) => {
    let column = numbers.get(name);
    if (!column) {
      column = new Float64Array(entries.length).fill(missingNumber(name));
      numbers.set(name, column);
    }
    column[at] = value;
  };
  const location = new TextColumnWriter(entries.length);
  const status = new TextColumnWriter(entries.length);
  const dimension = new TextColumnWriter(entries.length);
  entries.forEach((entry, at) => {
    set(timeColumn, at, entry.row.created);
    set(attemptsColumn, at, entry.row.attempts);
    // Most results have one row, and most frames no such column.
    if (entry.ordinal > 0) set(ordinalColumn, at, entry.ordinal);
    else if (hasTime(entry.row)) set(responseColumn, at, entry.row.response_time);
    location.set(at, entry.row.run_location);
    status.set(at, statusOf(entry.row));
    dimension.set(at, entry.dimension === null ? '' : String(entry.dimension));
    for (const [name, value] of Object.entries(entry.metrics)) set(name, at, value);
  });
  const texts = new Map([
    [locationColumn, location.column],
    [statusColumn, status.column],
    [dimensionColumn, dimension.column],
  ]);
  return { rowCount: entries.length, numbers, texts };
}

/** Whether the target responded, so that the response time is valid. */
function hasTime({ has_errors: hasErrors, code }: MeasuredRow): boolean {
  return hasErrors === 0 && (code === null || measuredFailures.has(code));
}

function statusOf(row: MeasuredRow): 'success' | 'failure' | 'error' {
  if (row.has_errors === 1) return 'error';
  return row.has_failures === 1 ? 'failure' : 'success';
}

/** Rows of a frame that become rows of another frame. */
export interface FramePart {
  readonly rowCount: number;
  hasNumbers(name: string): boolean;
  /** Writes the numbers of a column into another column, starting at `at`. */
  numbersInto(name: string, target: Float64Array, at: number): void;
  textsOf(name: string): TextColumn | undefined;
}

/** A whole frame as a part of another one. */
export function partOf({ rowCount, numbers, texts }: Frame): FramePart {
  return {
    rowCount,
    hasNumbers: (name) => numbers.has(name),
    numbersInto: (name, target, at) => target.set(numbers.get(name) ?? [], at),
    textsOf: (name) => texts.get(name),
  };
}

/** Rows [from, to) of encoded columns, decoded on demand. */
export function encodedPart(
  columns: ReadonlyMap<string, Uint8Array>,
  rows: { readonly from: number; readonly to: number },
): FramePart {
  return {
    rowCount: rows.to - rows.from,
    hasNumbers: (name) => columns.has(name),
    numbersInto: (name, target, at) => {
      const bytes = columns.get(name);
      if (bytes) decodeNumbers(bytes, rows, target, at);
    },
    textsOf: (name) => {
      const bytes = columns.get(name);
      return bytes && decodeTexts(bytes, rows);
    },
  };
}

/** Joins parts in order into one frame, with those of the named columns that have values. */
export function joinParts(parts: readonly FramePart[], names: Iterable<string>): Frame {
  const rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0);
  const numbers = new Map<string, Float64Array>();
  const texts = new Map<string, TextColumn>();
  for (const name of names) {
    let start = 0;
    if (textColumns.includes(name)) {
      const writer = new TextColumnWriter(rowCount);
      for (const part of parts) {
        const column = part.textsOf(name);
        if (column) writer.append(column, start);
        else writer.fill('', start, start + part.rowCount);
        start += part.rowCount;
      }
      texts.set(name, writer.column);
    } else if (parts.some((part) => part.hasNumbers(name))) {
      const joined = new Float64Array(rowCount);
      for (const part of parts) {
        if (part.hasNumbers(name)) part.numbersInto(name, joined, start);
        else joined.fill(missingNumber(name), start, start + part.rowCount);
        start += part.rowCount;
      }
      numbers.set(name, joined);
    }
  }
  return { rowCount, numbers, texts };
}

/** Rows whose time is in [from, to); times are sorted. */
export function rowsBetween(
  encodedTimes: Uint8Array,
  rowCount: number,
  { from, to }: { readonly from: number; readonly to: number },
): { from: number; to: number } {
  const times = new Float64Array(rowCount);
  decodeNumbers(encodedTimes, { from: 0, to: rowCount }, times, 0);
  return { from: firstAtOrAfter(times, from), to: firstAtOrAfter(times, to) };
}

/** Rows of a frame with times whose time is in [from, to). */
export function framePart(frame: Frame, window: { readonly from: number; readonly to: number }): FramePart {
  const times = frame.numbers.get(timeColumn) ?? new Float64Array();
  const [start, end] = [firstAtOrAfter(times, window.from), firstAtOrAfter(times, window.to)];
  if (start === 0 && end === frame.rowCount) return partOf(frame);
  const numbers = [...frame.numbers].map(([name, column]) => [name, column.subarray(start, end)] as const);
  const texts = [...frame.texts].map(
    ([name, { texts, index }]) => [name, { texts, index: index.subarray(start, end) }] as const,
  );
  return partOf({ rowCount: end - start, numbers: new Map(numbers), texts: new Map(texts) });
}

function firstAtOrAfter(times: Float64Array, instant: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

function missingNumber(name: string): number {
  return name === ordinalColumn ? 0 : Number.NaN;
}

/** Encodes the columns of a frame, by name. Omits columns with only default values. */
export function encodeFrame(frame: Frame): Map<string, Buffer> {
  const encoded = new Map<string, Buffer>();
  for (const [name, column] of frame.numbers) {
    const missing = missingNumber(name);
    if (!column.every((value) => Object.is(value, missing))) encoded.set(name, encodeNumbers(column));
  }
  for (const [name, column] of frame.texts) {
    if (column.texts.length !== 1 || column.texts[0] !== '') encoded.set(name, encodeTexts(column));
  }
  return encoded;
}
