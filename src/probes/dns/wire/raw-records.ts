/** The bytes are not a DNS message. */
export class DnsDecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DnsDecodeError';
  }
}

const headerBytes = 12;
const questionTailBytes = 4;
const recordHeadBytes = 10;
const maxNameBytes = 255;

/** A name read from a message: in zone file notation, with a trailing dot. */
export interface WireName {
  readonly text: string;
  /** Offset of the byte after the name. */
  readonly end: number;
}

/** A resource record as encoded in a message. */
export interface RawRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** Start and end of its data. */
  readonly start: number;
  readonly end: number;
}

/** The structure of a message, before any record data is read. */
export interface RawMessage {
  readonly questions: readonly { readonly name: string; readonly class: number }[];
  readonly answers: readonly RawRecord[];
  readonly authorities: readonly RawRecord[];
  readonly additionals: readonly RawRecord[];
}

/**
 * Locates the records of a message: their lengths must fit the message, and their data the record length.
 *
 * @throws DnsDecodeError
 */
export function readRawMessage(bytes: Buffer): RawMessage {
  if (bytes.length < headerBytes) throw new DnsDecodeError('it is shorter than a header');
  let offset = headerBytes;
  const questions = Array.from({ length: bytes.readUInt16BE(4) }, () => {
    const { text, end } = readName(bytes, offset);
    offset = end + questionTailBytes;
    if (offset > bytes.length) throw new DnsDecodeError('it ends inside a question');
    return { name: text, class: bytes.readUInt16BE(end + 2) };
  });
  const section = (countOffset: number) => {
    const records: RawRecord[] = [];
    for (let left = bytes.readUInt16BE(countOffset); left > 0; left -= 1) {
      const record = readRecord(bytes, offset);
      records.push(record);
      offset = record.end;
    }
    return records;
  };
  return { questions, answers: section(6), authorities: section(8), additionals: section(10) };
}

function readRecord(bytes: Buffer, offset: number): RawRecord {
  const { text, end: head } = readName(bytes, offset);
  const start = head + recordHeadBytes;
  if (start > bytes.length) throw new DnsDecodeError('it ends inside a record');
  const end = start + bytes.readUInt16BE(start - 2);
  if (end > bytes.length) throw new DnsDecodeError('it ends inside the data of a record');
  const record = {
    name: text,
    type: bytes.readUInt16BE(head),
    class: bytes.readUInt16BE(head + 2),
    start,
    end,
  };
  const used = usedBytes[record.type]?.(bytes, record);
  if (used !== undefined && used !== end) {
    throw new DnsDecodeError(
      `the data of a record of ${text} do not match their length of ${end - start} bytes`,
    );
  }
  return record;
}

type EndOfData = (bytes: Buffer, record: Pick<RawRecord, 'start' | 'end'>) => number;

const fixed =
  (size: number): EndOfData =>
  (_bytes, { start }) =>
    start + size;
const names =
  ({
    before = 0,
    count = 1,
    after = 0,
  }: {
    before?: number;
    count?: number;
    after?: number;
  } = {}): EndOfData =>
  (bytes, { start }) => {
    let offset = start + before;
    for (let left = count; left > 0; left -= 1) offset = readName(bytes, offset).end;
    return offset + after;
  };
const strings: EndOfData = (bytes, { start, end }) => {
  let offset = start;
  while (offset < end) offset += 1 + bytes.readUInt8(offset);
  return offset;
};

/** Computes the end of a record's data from the content, by record type. */
const usedBytes: Readonly<Record<number, EndOfData>> = {
  1: fixed(4),
  2: names(),
  5: names(),
  6: names({ count: 2, after: 20 }),
  12: names(),
  15: names({ before: 2 }),
  16: strings,
  28: fixed(16),
  33: names({ before: 6 }),
  39: names(),
};

/**
 * Reads a name and everything it points to. Special bytes are escaped as dig does (RFC 1035 section 5.1, RFC 4343
 * section 2.1).
 *
 * @throws DnsDecodeError
 */
export function readName(bytes: Buffer, start: number): WireName {
  const labels: string[] = [];
  let sizeBytes = 1;
  let offset = start;
  let floor = start;
  let end: number | undefined;
  for (;;) {
    if (offset >= bytes.length) throw new DnsDecodeError('it ends inside a name');
    const length = bytes.readUInt8(offset);
    if (length === 0) break;
    if (length >= 0xc0) {
      if (offset + 1 >= bytes.length) throw new DnsDecodeError('it ends inside a name');
      end ??= offset + 2;
      offset = bytes.readUInt16BE(offset) & 0x3fff;
      // Pointers only lead backwards, so the loop terminates.
      if (offset >= floor) throw new DnsDecodeError('a compressed name does not point backwards');
      floor = offset;
      continue;
    }
    const next = offset + 1 + length;
    sizeBytes += 1 + length;
    if (length > 63 || next > bytes.length || sizeBytes > maxNameBytes) {
      throw new DnsDecodeError('a name has an invalid label, or is too long');
    }
    labels.push(labelText(bytes.subarray(offset + 1, next)));
    offset = next;
  }
  return { text: `${labels.join('.')}.`, end: end ?? offset + 1 };
}

/** Formats a label in zone file notation. */
export function labelText(label: Buffer): string {
  return label.toString('latin1').replaceAll(/["$().;@\\]|[^!-~]/g, (character) => {
    const isShown = /[!-~]/.test(character);
    return `\\${isShown ? character : String(character.charCodeAt(0)).padStart(3, '0')}`;
  });
}
