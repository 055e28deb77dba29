import { isUtf8 } from 'node:buffer';
import { SqlMalformed } from '../session.ts';

/** Reads the fields of a packet one after the other. */
export class Fields {
  readonly #packet: Buffer;
  #at = 0;

  constructor(packet: Buffer) {
    this.#packet = packet;
  }

  /** @throws SqlMalformed if the packet is shorter. */
  bytes(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#packet.length) throw new SqlMalformed('a packet of the server ends too early');
    const part = this.#packet.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  /** A number of this many bytes, the lowest first. @throws SqlMalformed */
  number(sizeBytes: 1 | 2 | 3 | 4): number {
    return this.bytes(sizeBytes).readUIntLE(0, sizeBytes);
  }

  /** A number that says its own length; null stands for NULL. @throws SqlMalformed */
  length(): number | null {
    const first = this.number(1);
    if (first < 0xfb) return first;
    if (first === 0xfb) return null;
    if (first === 0xfc) return this.number(2);
    if (first === 0xfd) return this.number(3);
    if (first === 0xff) throw new SqlMalformed('a packet of the server has an invalid length');
    const value = this.bytes(8).readBigUInt64LE();
    return value > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(value);
  }

  /** Bytes after their length; null stands for NULL. @throws SqlMalformed */
  value(): Buffer | null {
    const sizeBytes = this.length();
    return sizeBytes === null ? null : this.bytes(sizeBytes);
  }

  /** Text up to a zero, or to the end. */
  text(): string {
    const zero = this.#packet.indexOf(0, this.#at);
    const end = zero < 0 ? this.#packet.length : zero;
    const text = this.#packet.toString('utf8', this.#at, end);
    this.#at = Math.min(end + 1, this.#packet.length);
    return text;
  }

  rest(): Buffer {
    return this.#packet.subarray(this.#at);
  }
}

export interface Column {
  readonly name: string;
  readonly type: number;
}

/** Reads the definition of a column. @throws SqlMalformed */
export function columnIn(packet: Buffer): Column {
  const fields = new Fields(packet);
  // Catalogue, schema, table, table in the database.
  for (let index = 0; index < 4; index += 1) fields.value();
  const name = fields.value()?.toString('utf8') ?? '';
  fields.value();
  // The length of the other fields, the character set, and the width.
  fields.bytes(1 + 2 + 4);
  return { name, type: fields.number(1) };
}

/** Types of columns: decimal, tiny, short, long, float, double, longlong, int24, year, newdecimal. */
const numericTypes: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 5, 8, 9, 13, 246]);
const bitType = 16;

/** A value as it is compared: numbers that a double represents exactly, bytes that are no text as `0x…`. */
export function comparedValue(found: Buffer | null, { type }: Column): string | number | null {
  if (found === null) return null;
  if (type === bitType && found.length > 0 && found.length <= 6) return found.readUIntBE(0, found.length);
  if (!isUtf8(found)) return `0x${found.toString('hex')}`;
  const text = found.toString('utf8');
  return numericTypes.has(type) && String(Number(text)) === text ? Number(text) : text;
}

/** Bytes with their length in front, as `Fields.value` reads them. */
export function withLength(value: Buffer): Buffer {
  if (value.length < 0xfb) return Buffer.concat([Buffer.from([value.length]), value]);
  const head = Buffer.from([0xfc, 0, 0]);
  head.writeUInt16LE(value.length, 1);
  return Buffer.concat([head, value]);
}

export function withZero(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}
