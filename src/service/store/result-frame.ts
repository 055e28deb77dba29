import type { MeasuredValues } from '../analytics/measured-values.ts';

/** What analytics need to know of a result, as the database returns it. */
export interface MeasuredRow {
  readonly created: number;
  readonly run_location: string;
  readonly has_failures: 0 | 1;
  readonly attempts: number;
  /** `MeasuredValues` as JSON; null for results of builds that did not store them. */
  readonly measured: string | null;
}

/** A column of few distinct texts: `index[row]` is the place of the row's text in `texts`. */
export interface TextColumn {
  readonly texts: readonly string[];
  readonly index: Uint16Array;
}

/** Columns that every frame may have. Names of metrics have no `@`. */
export const timeColumn = '@time';
export const attemptsColumn = '@attempts';
/** Counts the items of one result from 0; a row with 0 begins a result. */
export const ordinalColumn = '@ordinal';
export const locationColumn = '@location';
/** `success` or `failure`. */
export const statusColumn = '@status';
/** The value of the type's dimension; the empty text where it has none. */
export const dimensionColumn = '@dimension';
export const textColumns: readonly string[] = [locationColumn, statusColumn, dimensionColumn];

/**
 * Results as columns, oldest first: a row for each item of each result. A number that was not measured is NaN. A column
 * that is not there holds nothing but NaN, the empty text, or 0 where it is `@ordinal`.
 */
export interface Frame {
  readonly rowCount: number;
  readonly numbers: ReadonlyMap<string, Float64Array>;
  readonly texts: ReadonlyMap<string, TextColumn>;
}

/** More distinct texts than an index can tell apart share the last place. */
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

/** Turns rows, oldest first, into columns. */
export function frameOf(rows: readonly MeasuredRow[]): Frame {
  const entries = rows.flatMap((row) => {
    const values: MeasuredValues = row.measured === null ? [[null, {}]] : JSON.parse(row.measured);
    return values.map(([dimension, metrics], ordinal) => ({ row, ordinal, dimension, metrics }));
  });
  const numbers = new Map<string, Float64Array>();
  const set = (name: string, at: number, value: number) => {
    let column = numbers.get(name);
    if (!column) {
      column = new Float64Array(entries.length).fill(Number.NaN);
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
    set(ordinalColumn, at, entry.ordinal);
    location.set(at, entry.row.run_location);
    status.set(at, entry.row.has_failures === 1 ? 'failure' : 'success');
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

/** One frame of several, in their order, with the named columns. */
export function joinFrames(frames: readonly Frame[], names: Iterable<string>): Frame {
  const rowCount = frames.reduce((sum, frame) => sum + frame.rowCount, 0);
  const numbers = new Map<string, Float64Array>();
  const texts = new Map<string, TextColumn>();
  for (const name of names) {
    let start = 0;
    if (textColumns.includes(name)) {
      const writer = new TextColumnWriter(rowCount);
      for (const frame of frames) {
        const column = frame.texts.get(name);
        if (column) writer.append(column, start);
        else writer.fill('', start, start + frame.rowCount);
        start += frame.rowCount;
      }
      texts.set(name, writer.column);
    } else {
      const joined = new Float64Array(rowCount);
      for (const frame of frames) {
        const column = frame.numbers.get(name);
        if (column) joined.set(column, start);
        else joined.fill(missingNumber(name), start, start + frame.rowCount);
        start += frame.rowCount;
      }
      numbers.set(name, joined);
    }
  }
  return { rowCount, numbers, texts };
}

/** The rows whose time is in [from, to); the times are in order. */
export function cutFrame(frame: Frame, from: number, to: number): Frame {
  const times = frame.numbers.get(timeColumn);
  if (!times) throw new Error('a frame without times cannot be cut');
  const start = firstAtOrAfter(times, from);
  const end = firstAtOrAfter(times, to);
  return {
    rowCount: end - start,
    numbers: new Map([...frame.numbers].map(([name, column]) => [name, column.subarray(start, end)])),
    texts: new Map(
      [...frame.texts].map(([name, { texts, index }]) => [
        name,
        { texts, index: index.subarray(start, end) },
      ]),
    ),
  };
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

/** The columns of a frame as bytes, by name. Columns that say nothing are left out. */
export function encodeFrame(frame: Frame): Map<string, Buffer> {
  const encoded = new Map<string, Buffer>();
  for (const [name, column] of frame.numbers) {
    const missing = missingNumber(name);
    if (column.every((value) => Object.is(value, missing))) continue;
    encoded.set(name, Buffer.from(column.buffer, column.byteOffset, column.byteLength));
  }
  for (const [name, { texts, index }] of frame.texts) {
    if (texts.length === 1 && texts[0] === '') continue;
    const dictionary = Buffer.from(JSON.stringify(texts));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(dictionary.length);
    encoded.set(
      name,
      Buffer.concat([length, dictionary, Buffer.from(index.buffer, index.byteOffset, index.byteLength)]),
    );
  }
  return encoded;
}

/** One column as `encodeFrame` wrote it. */
export function decodeColumn(name: string, bytes: Uint8Array): Float64Array | TextColumn {
  if (!textColumns.includes(name)) return new Float64Array(aligned(bytes));
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const dictionary = new TextDecoder().decode(bytes.subarray(4, 4 + length));
  const index = new Uint16Array(aligned(bytes.subarray(4 + length)));
  return { texts: JSON.parse(dictionary) as string[], index };
}

/** A copy, because a typed array has to begin at a multiple of its width. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return copy.buffer;
}
