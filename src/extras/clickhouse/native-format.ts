import type { TextColumn } from '@picket/service/results/columns/column-coding.ts';

/**
 * Blocks of columns in ClickHouse's format `Native` for clients without a revision: the number of columns and rows,
 * then for each column its name, its type and its values in sequence. Old and new servers read and write it alike, and
 * numbers need no parsing.
 */
export type NativeColumn = NumberColumn | StringColumn;

interface NumberColumn {
  readonly name: string;
  readonly type: NumberType | `Enum8(${string})`;
  /** The numbers as in memory, little-endian; 64-bit numbers in two halves, the lower one first. */
  readonly values: Float64Array | Uint32Array | Uint16Array | Int8Array;
}

interface StringColumn {
  readonly name: string;
  readonly type: 'String';
  readonly texts: TextColumn;
}

type NumberType = keyof typeof widths;

const widths = { Float64: 8, UInt64: 8, UInt32: 4, Date: 2 } as const;

export function encodeBlock(columns: readonly NativeColumn[], rowCount: number): Buffer {
  const parts: Buffer[] = [varInt(columns.length), varInt(rowCount)];
  for (const column of columns) {
    parts.push(text(column.name), text(column.type));
    if ('texts' in column) {
      const entries = column.texts.texts.map(text);
      const places = column.texts.index;
      for (let row = 0; row < rowCount; row += 1) parts.push(entries[places[row] ?? 0] ?? noText);
    } else {
      const { buffer, byteOffset, byteLength } = column.values;
      parts.push(Buffer.from(buffer, byteOffset, byteLength));
    }
  }
  return Buffer.concat(parts);
}

const noText = Buffer.from([0]);

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varInt(bytes.length), bytes]);
}

function varInt(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 0x80)) {
    if (left < 0x80) return Buffer.from([...bytes, left]);
    bytes.push((left % 0x80) + 0x80);
  }
}

/** A decoded block. */
export interface NativeBlock {
  readonly rowCount: number;
  /** Bytes of the number columns, in the requested order; `widthOf` has the size of a value. */
  readonly numbers: ReadonlyMap<string, Uint8Array>;
  readonly texts: ReadonlyMap<string, TextColumn>;
}

/**
 * Decodes the blocks of a response.
 *
 * @param names the requested columns, in order.
 * @throws Error for any other content: a server that fails midway writes the reason into the response.
 */
export function decodeBlocks(bytes: Buffer, names: readonly string[]): NativeBlock[] {
  const reader = new Reader(bytes);
  const blocks: NativeBlock[] = [];
  while (!reader.isAtEnd) {
    if (reader.varInt() !== names.length) throw new Error('the answer has other columns');
    const rowCount = reader.varInt();
    const numbers = new Map<string, Uint8Array>();
    const texts = new Map<string, TextColumn>();
    for (const name of names) {
      if (reader.text() !== name) throw new Error(`the answer lacks the column ${name}`);
      const type = reader.text();
      if (type === 'String') texts.set(name, reader.texts(rowCount));
      else numbers.set(name, reader.bytes(rowCount * widthOf(type)));
    }
    blocks.push({ rowCount, numbers, texts });
  }
  return blocks;
}

function widthOf(type: string): number {
  if (type.startsWith('Enum8(')) return 1;
  const width = (widths as Record<string, number>)[type];
  if (width === undefined) throw new Error(`the answer has a column of the type ${type}`);
  return width;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varInt(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || unit > 2 ** 42) throw new Error('the answer is cut off');
      this.#at += 1;
      value += (byte % 0x80) * unit;
      if (byte < 0x80) return value;
    }
  }

  bytes(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw new Error('the answer is cut off');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  text(): string {
    const bytes = this.bytes(this.varInt());
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  }

  /** Few values are distinct, so each is created once. */
  texts(rowCount: number): TextColumn {
    const texts: string[] = [];
    const places = new Map<string, number>();
    const index = new Uint16Array(rowCount);
    for (let row = 0; row < rowCount; row += 1) {
      const length = this.varInt();
      const start = this.#at;
      this.bytes(length);
      // A Latin-1 key is faster than decoded text, and as distinct.
      const key = this.#bytes.toString('latin1', start, this.#at);
      let place = places.get(key);
      if (place === undefined) {
        place = texts.length;
        places.set(key, place);
        texts.push(this.#bytes.toString('utf8', start, this.#at));
      }
      index[row] = place;
    }
    return { texts, index };
  }
}
