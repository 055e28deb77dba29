/** One element of DER (X.690), or of similar data. */
export interface DerElement {
  readonly tag: number;
  readonly value: Buffer;
  /** The complete encoding, as it is signed. */
  readonly whole: Buffer;
}

/** The data is not valid DER. */
export class DerError extends Error {}

/** Splits bytes into consecutive elements. @throws DerError */
export function elementsOf(data: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  for (let start = 0; start < data.length; ) {
    const element = elementAt(data, start);
    elements.push(element);
    start += element.whole.length;
  }
  return elements;
}

function elementAt(data: Buffer, start: number): DerElement {
  const tag = data[start];
  const short = data[start + 1];
  if (tag === undefined || short === undefined) throw new DerError('an element ends before its length');
  const lengthBytes = short < 0x80 ? 0 : short & 0x7f;
  const valueStart = start + 2 + lengthBytes;
  if (lengthBytes > 4 || valueStart > data.length || short === 0x80) {
    throw new DerError('an element has an invalid length');
  }
  const sizeBytes = lengthBytes === 0 ? short : data.readUIntBE(start + 2, lengthBytes);
  const end = valueStart + sizeBytes;
  if (end > data.length) throw new DerError('an element is longer than its container');
  return { tag, value: data.subarray(valueStart, end), whole: data.subarray(start, end) };
}

/** Formats an object identifier in dotted notation. */
export function oidText(value: Buffer): string {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of value) {
    number = number * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(number);
      number = 0;
    }
  }
  const [first = 0, ...rest] = numbers;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join('.');
}

/** Parses a GeneralizedTime or a UTCTime to epoch milliseconds; NaN if invalid. */
export function timeMs({ tag, value }: DerElement): number {
  const text = value.toString('latin1');
  const full = tag === 0x17 ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z$/.exec(full);
  if (!match) return Number.NaN;
  const [, year, month, day, hour, minute, second] = match;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** Parses untrusted data; returns the fallback if it is not valid DER. */
export function readOr<Value>(otherwise: Value, read: () => Value): Value {
  try {
    return read();
  } catch (thrown) {
    // Offsets beyond the end of a buffer, and invalid numbers.
    const isAboutInput =
      thrown instanceof DerError || thrown instanceof RangeError || thrown instanceof SyntaxError;
    if (isAboutInput) return otherwise;
    throw thrown;
  }
}
