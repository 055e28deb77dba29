/** A column with few distinct texts: `index[row]` is the position of the row's text in `texts`. */
export interface TextColumn {
  readonly texts: readonly string[];
  readonly index: Uint16Array;
}

/**
 * Encodes numbers as bytes. Nearly all measured values have few digits (times are rounded to the microsecond, instants
 * and counts are integers), so they are stored as integer offsets from the smallest value, in as few bytes each as the
 * largest one needs; 0 stands for NaN. A column in which any number would lose precision is stored as doubles. Decoding
 * returns exactly the encoded values.
 *
 * Header, 16 bytes: bytes per number (0 to 4; 8 for doubles), units per 1 (1 or 1000), six unused bytes, and the number
 * that code 1 stands for, in units, as a double. Then the numbers. All of it is little-endian.
 */
const headBytes = 16;
const doubleBytes = 8;
const unitsPerOne = [1, 1000] as const;
const largestCode = 2 ** 32 - 1;

export function encodeNumbers(column: Float64Array): Buffer {
  const code = unitsPerOne.map((units) => codeOf(column, units)).find((found) => found !== null);
  if (!code) {
    const bytes = Buffer.alloc(headBytes + column.byteLength);
    bytes[0] = doubleBytes;
    bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), headBytes);
    return bytes;
  }
  const { units, base, width } = code;
  const bytes = Buffer.alloc(headBytes + column.length * width);
  bytes[0] = width;
  bytes.writeUInt16LE(units, 1);
  bytes.writeDoubleLE(base, 8);
  if (width === 0) return bytes;
  column.forEach((value, row) => {
    const number = Number.isNaN(value) ? 0 : Math.round(value * units) - base + 1;
    bytes.writeUIntLE(number, headBytes + row * width, width);
  });
  return bytes;
}

/** Integer encoding of a column, or null if some numbers would change. */
function codeOf(
  column: Float64Array,
  units: number,
): { readonly units: number; readonly base: number; readonly width: number } | null {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  let hasNaN = false;
  for (const value of column) {
    if (Number.isNaN(value)) {
      hasNaN = true;
      continue;
    }
    const whole = Math.round(value * units);
    // Also rejects infinite numbers, and those too large to be safe integers.
    if (!Number.isSafeInteger(whole) || whole / units !== value) return null;
    if (whole < least) least = whole;
    if (whole > most) most = whole;
  }
  if (most < least) return { units, base: 1, width: hasNaN ? 1 : 0 };
  const largest = most - least + 1;
  if (largest > largestCode) return null;
  // A single value for all rows needs no bytes per row.
  if (largest === 1 && !hasNaN) return { units, base: least, width: 0 };
  const width = largest < 2 ** 8 ? 1 : largest < 2 ** 16 ? 2 : largest < 2 ** 24 ? 3 : 4;
  return { units, base: least, width };
}

/** Writes the numbers of rows [from, to) of a column into another column, starting at `at`. */
export function decodeNumbers(
  bytes: Uint8Array,
  rows: { readonly from: number; readonly to: number },
  target: Float64Array,
  at: number,
): void {
  const { from, to } = rows;
  const width = bytes[0] ?? 0;
  if (width === doubleBytes) {
    const start = headBytes + from * doubleBytes;
    const raw = bytes.subarray(start, headBytes + to * doubleBytes);
    new Uint8Array(target.buffer, target.byteOffset + at * doubleBytes, raw.length).set(raw);
    return;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const units = view.getUint16(1, true);
  const first = view.getFloat64(8, true);
  if (width === 0) {
    target.fill(first / units, at, at + to - from);
    return;
  }
  const base = first - 1;
  let place = headBytes + from * width;
  for (let row = at; row < at + to - from; row += 1) {
    let code = bytes[place] ?? 0;
    if (width > 1) code |= (bytes[place + 1] ?? 0) << 8;
    if (width > 2) code |= (bytes[place + 2] ?? 0) << 16;
    if (width > 3) code += (bytes[place + 3] ?? 0) * 0x1000000;
    place += width;
    target[row] = code === 0 ? Number.NaN : (base + code) / units;
  }
}

/**
 * Encodes texts: length of the dictionary, the dictionary as JSON, and a position in it for each row: one byte or two.
 */
export function encodeTexts({ texts, index }: TextColumn): Buffer {
  const dictionary = Buffer.from(JSON.stringify(texts));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(dictionary.length);
  const places =
    texts.length <= 256 ? Buffer.from(index) : Buffer.from(index.buffer, index.byteOffset, index.byteLength);
  return Buffer.concat([length, dictionary, places]);
}

/** Texts of the rows [from, to) of a column. */
export function decodeTexts(
  bytes: Uint8Array,
  rows: { readonly from: number; readonly to: number },
): TextColumn {
  const { from, to } = rows;
  const start = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const texts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start))) as string[];
  const places = bytes.subarray(start);
  if (texts.length <= 256) return { texts, index: new Uint16Array(places.subarray(from, to)) };
  // A copy, because a typed array must start at a multiple of its element width.
  return { texts, index: new Uint16Array(new Uint8Array(places.subarray(from * 2, to * 2)).buffer) };
}
