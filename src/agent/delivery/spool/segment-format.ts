import { crc32 } from 'node:zlib';

/**
 * How results are stored on disk. A segment is an append-only file: a header, then records.
 *
 * | segment header, 16 bytes | |
 * |---|---|
 * | 0 | `PICKETSP` |
 * | 8 | version, 32 bit |
 * | 12 | CRC-32 of the 12 bytes before |
 *
 * | record, 28 bytes and its body | |
 * |---|---|
 * | 0 | `PREC` |
 * | 4 | length of the body, 32 bit |
 * | 8 | CRC-32 of the body |
 * | 12 | when it was spooled, epoch milliseconds by the service's clock, double |
 * | 20 | CRC-32 of the 20 bytes before |
 * | 24 | 0; once the service has the result: the mark made of the two checksums |
 * | 28 | the body, UTF-8 |
 *
 * All numbers are little-endian. The mark is the only field that is ever overwritten; it must match four specific
 * bytes, so that damage is not mistaken for it.
 */
export const formatVersion = 1;
export const segmentHeaderBytes = 16;
export const recordHeaderBytes = 28;
/** No body is longer; a greater length means damage. */
export const maxBodyBytes = 128 * 1024 * 1024;

const segmentMagic = Buffer.from('PICKETSP');
const recordMagic = Buffer.from('PREC');
export const markAt = 24;
const markSalt = 0x5e771ed1;

export function segmentHeader(): Buffer {
  const header = Buffer.alloc(segmentHeaderBytes);
  segmentMagic.copy(header);
  header.writeUInt32LE(formatVersion, 8);
  header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
  return header;
}

/** Classifies a file by its header: our format, a later version of it, or damaged. */
export function readSegmentHeader(bytes: Buffer): 'ours' | 'newer' | 'damaged' {
  if (bytes.length < segmentHeaderBytes || !bytes.subarray(0, 8).equals(segmentMagic)) return 'damaged';
  if (crc32(bytes.subarray(0, 12)) !== bytes.readUInt32LE(12)) return 'damaged';
  return bytes.readUInt32LE(8) > formatVersion ? 'newer' : 'ours';
}

export function encodeRecord(body: Buffer, atMs: number): Buffer {
  const record = Buffer.allocUnsafe(recordHeaderBytes + body.length);
  recordMagic.copy(record);
  record.writeUInt32LE(body.length, 4);
  record.writeUInt32LE(crc32(body), 8);
  record.writeDoubleLE(atMs, 12);
  record.writeUInt32LE(crc32(record.subarray(0, 20)), 20);
  record.writeUInt32LE(0, markAt);
  body.copy(record, recordHeaderBytes);
  return record;
}

/** The bytes written `markAt` bytes into a record to mark it as settled. */
export function settledMark(mark: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(mark);
  return bytes;
}

export interface RecordHeader {
  readonly bodyLength: number;
  readonly bodyCrc: number;
  readonly atMs: number;
  /** Value of its mark once it is settled. */
  readonly mark: number;
  readonly isSettled: boolean;
}

/** Reads the header of the record at `at`; undefined if there is no valid one. */
export function readRecordHeader(bytes: Buffer, at: number): RecordHeader | undefined {
  if (at + recordHeaderBytes > bytes.length) return undefined;
  if (bytes.compare(recordMagic, 0, 4, at, at + 4) !== 0) return undefined;
  const headerCrc = bytes.readUInt32LE(at + 20);
  if (crc32(bytes.subarray(at, at + 20)) !== headerCrc) return undefined;
  const bodyLength = bytes.readUInt32LE(at + 4);
  if (bodyLength > maxBodyBytes) return undefined;
  const bodyCrc = bytes.readUInt32LE(at + 8);
  const atMs = bytes.readDoubleLE(at + 12);
  const mark = (bodyCrc ^ headerCrc ^ markSalt) >>> 0 || 1;
  return { bodyLength, bodyCrc, atMs, mark, isSettled: bytes.readUInt32LE(at + markAt) === mark };
}

/** Reads the body after a header; undefined if it is damaged. */
export function readBody(bytes: Buffer, at: number, header: RecordHeader): Buffer | undefined {
  const body = bytes.subarray(at + recordHeaderBytes, at + recordHeaderBytes + header.bodyLength);
  return body.length === header.bodyLength && crc32(body) === header.bodyCrc ? body : undefined;
}

/** A range of a segment: a record, or bytes that are not a valid record. */
export type RecordRange =
  | { readonly at: number; readonly header: RecordHeader; readonly body: Buffer }
  | { readonly at: number; readonly endAt: number; readonly isTail: boolean };

/**
 * Iterates over a segment. After damage it continues with the next record found; `isTail` marks damage that extends to
 * the end, such as an interrupted append.
 */
export function* recordRanges(bytes: Buffer, from = segmentHeaderBytes): Generator<RecordRange> {
  let at = from;
  while (at < bytes.length) {
    const header = readRecordHeader(bytes, at);
    const body = header && readBody(bytes, at, header);
    if (header && body) {
      yield { at, header, body };
      at += recordHeaderBytes + header.bodyLength;
      continue;
    }
    let endAt = nextRecordAt(bytes, at + 1);
    // A damaged body may contain bytes that look like a record; if its header leads to a valid record, trust the
    // header.
    const ownEndAt = header ? at + recordHeaderBytes + header.bodyLength : 0;
    if (header && ownEndAt < bytes.length && readRecordHeader(bytes, ownEndAt)) endAt = ownEndAt;
    yield { at, endAt, isTail: endAt === bytes.length };
    at = endAt;
  }
}

function nextRecordAt(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(recordMagic, from); at >= 0; at = bytes.indexOf(recordMagic, at + 1)) {
    if (readRecordHeader(bytes, at)) return at;
  }
  return bytes.length;
}
