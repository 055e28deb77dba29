import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { isZlibError, type ScrubOptions, Unscrubbable, type WithheldMember } from '../scrub-report.ts';
import { contentKind, magicBytes } from './content-kind.ts';
import { deflated, inflated } from './raw-deflate.ts';
import { scrubBytes, scrubName } from './scrub-bytes.ts';
import { EmbeddedFiles, EmbeddedStream, type RepackZip } from './scrub-embedded.ts';
import { ScrubStream } from './scrub-stream.ts';
import { type Entry, readable, unreadable, type ZipSource } from './zip-source.ts';
import { isDirectory, type MemberHead, type PackedMember, type ZipWriter } from './zip-writer.ts';

/** Smaller members are processed as a whole, larger ones in chunks. */
const maxWholeBytes = 16 * 1024 * 1024;
const pieceBytes = 64 * 1024;
/** Memory needed to process a member in chunks. */
const streamedBytes = 1024 * 1024;

export interface MemberSurroundings {
  readonly archive: ZipSource;
  readonly options: ScrubOptions & { readonly signal: AbortSignal };
  /** Returns a copy of a nested archive without secrets. */
  readonly repackInner: (bytes: Buffer, within?: string) => ReturnType<RepackZip>;
}

/** Outcome for a member. */
export interface MemberReport {
  readonly replacedCount: number;
  /** Set if the member was left out: it contains a secret that cannot be removed, or it cannot be searched. */
  readonly withheldAs?: WithheldMember;
}

/** Writes a member, or withholds it, when its turn has come. */
export type ReadyMember = (writer: ZipWriter) => Promise<MemberReport>;

/** Approximate memory that a member takes from the start of `readyMember` until it is written, in bytes. */
export function heldBytes(entry: Entry): number {
  return isWhole(entry) ? entry.compressedSize + 2 * entry.uncompressedSize : streamedBytes;
}

/**
 * Does the work for a member that is possible before its turn: decompresses, searches and compresses it. Nested
 * archives and members too large for memory wait for their turn.
 *
 * @throws Unscrubbable if the archive must not be sent.
 */
export async function readyMember(entry: Entry, around: MemberSurroundings): Promise<ReadyMember> {
  const { options } = around;
  const { head, count: nameCount } = cleanHead(entry, options);
  if (isDirectory(entry.filename)) {
    const empty = { method: 0, crc32: 0, sizeBytes: 0, packed: Buffer.alloc(0) } as const;
    return async (writer) => {
      await writer.add(head, empty);
      return { replacedCount: nameCount };
    };
  }
  if (!isKnown(entry)) throw new Unscrubbable('the archive uses an unknown compression method');
  if (!isWhole(entry)) {
    return async (writer) => {
      const report = await writePieces(entry, head, around, writer);
      return { ...report, replacedCount: nameCount + report.replacedCount };
    };
  }
  const searched = await searchedMember(entry, around);
  options.signal.throwIfAborted();
  if (searched instanceof Unscrubbable) return async () => withheldMember(head, nameCount, searched);
  if ('inner' in searched) {
    return async (writer) => {
      const clean = await unlessUnscrubbable(() => around.repackInner(searched.inner, head.name));
      if (clean instanceof Unscrubbable) return withheldMember(head, nameCount, clean);
      await writer.add(head, stored(clean.bytes));
      return { replacedCount: nameCount + clean.count };
    };
  }
  const packed = 'original' in searched ? searched.original : await packedAgain(searched.bytes);
  const replacedCount = nameCount + searched.count;
  return async (writer) => {
    await writer.add(head, packed);
    return { replacedCount };
  };
}

/** Result of searching a member. It keeps only the bytes that are needed from there on. */
type Searched =
  /** No secret was found, and all of the compressed bytes were searched. */
  | { readonly original: PackedMember; readonly count: 0 }
  | { readonly bytes: Buffer; readonly count: number }
  /** An archive, not searched yet. */
  | { readonly inner: Buffer };

function withheldMember(
  { name }: MemberHead,
  replacedCount: number,
  { message }: Unscrubbable,
): MemberReport {
  return { replacedCount, withheldAs: { name, reason: message } };
}

function isWhole({ compressedSize, uncompressedSize }: Entry): boolean {
  return compressedSize <= maxWholeBytes && uncompressedSize <= maxWholeBytes;
}

/** Whether the member is deflated, or stored with matching sizes. */
function isKnown({ compressionMethod, compressedSize, uncompressedSize }: Entry): boolean {
  return compressionMethod === 8 || (compressionMethod === 0 && compressedSize === uncompressedSize);
}

function cleanHead(
  entry: Entry,
  options: ScrubOptions,
): { readonly head: MemberHead; readonly count: number } {
  const { name: clean, count } = scrubName(entry.filename, options);
  const name = isDirectory(entry.filename) && !isDirectory(clean) ? `${clean}/` : clean;
  return { head: { name, modifiedAt: entry.lastModDate }, count };
}

/**
 * Returns Unscrubbable if the member is withheld. Sizes and checksum are those of the decompressed data; the archive's
 * own values are not trusted.
 */
async function searchedMember(
  entry: Entry,
  { archive, options, repackInner }: MemberSurroundings,
): Promise<Searched | Unscrubbable> {
  const packed = await archive.packed(entry);
  const isStored = entry.compressionMethod === 0;
  const { bytes, usedBytes } = isStored
    ? { bytes: packed, usedBytes: packed.length }
    : await readable(() => inflated(packed, entry.uncompressedSize));
  if (contentKind(bytes) === 'zip') return { inner: bytes };
  const clean = await unlessUnscrubbable(async () => {
    const embedded = await new EmbeddedFiles(options, repackInner).scrub(bytes);
    const all = scrubBytes(embedded.bytes, options);
    return { bytes: all.bytes, count: all.count + embedded.count };
  });
  // Data after the end of the deflate stream was not searched, so it must not be copied either.
  if (clean instanceof Unscrubbable) return clean;
  if (clean.count !== 0 || usedBytes !== packed.length) return clean;
  const original = isStored
    ? stored(packed)
    : ({ method: 8, crc32: crc32(bytes), sizeBytes: bytes.length, packed } as const);
  return { original, count: 0 };
}

async function packedAgain(bytes: Buffer): Promise<PackedMember> {
  if (contentKind(bytes) !== 'text') return stored(bytes);
  return { method: 8, crc32: crc32(bytes), sizeBytes: bytes.length, packed: await deflated(bytes) };
}

function stored(bytes: Buffer): PackedMember {
  return { method: 0, crc32: crc32(bytes), sizeBytes: bytes.length, packed: bytes };
}

async function unlessUnscrubbable<T>(scrub: () => T | Promise<T>): Promise<T | Unscrubbable> {
  try {
    return await scrub();
  } catch (thrown) {
    if (thrown instanceof Unscrubbable) return thrown;
    throw thrown;
  }
}

/**
 * Writes a large member. If it contains compressed data, it is withheld, because secrets in there would not be found.
 */
async function writePieces(
  entry: Entry,
  head: MemberHead,
  { archive, options, repackInner }: MemberSurroundings,
  writer: ZipWriter,
): Promise<MemberReport> {
  const { signal } = options;
  const scrub = new ScrubStream(options.finder, options.mask);
  const embedded = new EmbeddedStream(options, repackInner);
  let hidden: Unscrubbable | undefined;
  async function* searchable(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let start = Buffer.alloc(0);
    let sizeBytes = 0;
    for await (const piece of pieces) {
      sizeBytes += piece.length;
      if (sizeBytes > entry.uncompressedSize) break;
      if (start.length < magicBytes) {
        start = Buffer.concat([start, piece]);
        if (start.length < magicBytes) continue;
        const kind = contentKind(start);
        if (kind === 'zip' || kind === 'gzip' || kind === 'zstd' || kind === 'opaque') {
          hidden = new Unscrubbable('a compressed member is too large');
          throw hidden;
        }
        yield start;
      } else {
        yield piece;
      }
    }
    if (sizeBytes !== entry.uncompressedSize) {
      throw unreadable(new Error('the size of a member differs from its declaration'));
    }
  }
  const stages = [
    archive.packedPieces(entry),
    ...(entry.compressionMethod === 8 ? [createInflateRaw({ chunkSize: pieceBytes })] : []),
    searchable,
    embedded,
    scrub,
    (pieces: AsyncIterable<Buffer>) => writer.addPieces(head, pieces),
  ];
  try {
    // The type for a list of stages covers only streams, but it accepts functions as well.
    await pipeline(stages as unknown as NodeJS.ReadWriteStream[], { signal });
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    if (hidden) return withheldMember(head, 0, hidden);
    throw isZlibError(thrown) ? unreadable(thrown) : thrown;
  }
  return { replacedCount: embedded.replacedCount + scrub.replacedCount };
}
