import { Unscrubbable } from './scrub-report.ts';

/** What stands in the directory of an archive beside a member's name: numbers, nothing a text could hide in. */
export interface MemberHead {
  /** Names that end with `/` are directories. */
  readonly name: string;
  /** Time of the last change, as the archive it comes from has it. */
  readonly dosTime: number;
  readonly dosDate: number;
  readonly modifiedAt: Date;
}

/** How a member's bytes are packed: not at all, or deflated. */
export type PackingMethod = 0 | 8;

export interface PackedMember {
  readonly method: PackingMethod;
  /** Of the unpacked bytes. */
  readonly crc32: number;
  readonly sizeBytes: number;
  readonly packed: Buffer;
}

interface Sizes {
  readonly crc32: number;
  readonly packedBytes: number;
  readonly sizeBytes: number;
}

const versionMadeBy = (3 << 8) | 63; // Unix, version 6.3 of the specification
const versionNeeded = 20;
const utf8Flag = 1 << 11;
const sizesFollowFlag = 1 << 3;
const fileMode = 0o100664;
const directoryMode = 0o40775;
/** What fits into fields of 32 bits. More than any archive may hold (see `maxUnpackedBytes`), so ZIP64 is not needed. */
const maxArchiveBytes = 0xffffffff - 1;
const maxMembers = 0xffff - 1;
/** Names of all members together, which stay in memory until the end. */
const maxDirectoryBytes = 16 * 1024 * 1024;
/** Small pieces are joined until they are as long as this. */
const writeBytes = 256 * 1024;
const recordsTogether = 500;

/**
 * Writes an archive (PKWARE's APPNOTE 6.3) from members that are packed already, in the order in which they are added. It
 * writes its own headers and nothing else: no comment, and one extra field, a time. Members are added one at a time.
 */
export class ZipWriter {
  readonly #write: (bytes: Buffer) => Promise<void>;
  /** Records of the directory, many of them in each piece. */
  readonly #directory: Buffer[] = [];
  #directoryBytes = 0;
  #records: Buffer[] = [];
  #memberCount = 0;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** How many bytes of the archive came before the next one. */
  #offset = 0;

  /** @param write takes all of the bytes; it is not called again before its promise has resolved. */
  constructor(write: (bytes: Buffer) => Promise<void>) {
    this.#write = write;
  }

  /** @throws Unscrubbable when the archive grows beyond what an archive may be, and so do the others. */
  async add(head: MemberHead, { method, crc32, sizeBytes, packed }: PackedMember): Promise<void> {
    const sizes = { crc32, sizeBytes, packedBytes: packed.length };
    const offset = this.#offset;
    await this.#put(localHeader(head, method, 0, sizes));
    await this.#put(packed);
    this.#list(head, method, 0, sizes, offset);
  }

  /**
   * Adds a deflated member piece by piece; its sizes are written behind it. Where the pieces fail before the first one,
   * nothing was added.
   *
   * @param unpacked asked after the last piece.
   */
  async addPieces(
    head: MemberHead,
    pieces: AsyncIterable<Buffer>,
    unpacked: () => { readonly crc32: number; readonly sizeBytes: number },
  ): Promise<void> {
    const offset = this.#offset;
    let packedBytes = 0;
    for await (const piece of pieces) {
      if (packedBytes === 0) {
        await this.#put(localHeader(head, 8, sizesFollowFlag, { crc32: 0, packedBytes: 0, sizeBytes: 0 }));
      }
      packedBytes += piece.length;
      await this.#put(piece);
    }
    const sizes = { ...unpacked(), packedBytes };
    await this.#put(uint32s(0x08074b50, sizes.crc32, sizes.packedBytes, sizes.sizeBytes));
    this.#list(head, 8, sizesFollowFlag, sizes, offset);
  }

  /** Writes the directory. Nothing is added any more. */
  async end(): Promise<void> {
    const start = this.#offset;
    for (const piece of [...this.#directory, ...this.#records]) await this.#put(piece);
    const count = this.#memberCount;
    await this.#put(
      Buffer.concat([
        uint32s(0x06054b50),
        uint16s(0, 0, count, count),
        uint32s(this.#offset - start, start),
        uint16s(0),
      ]),
    );
    await this.#flush();
  }

  async #put(bytes: Buffer): Promise<void> {
    this.#offset += bytes.length;
    if (this.#offset > maxArchiveBytes) throw new Unscrubbable('the archive is too large');
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= writeBytes) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#write(bytes);
  }

  #list(head: MemberHead, method: PackingMethod, flags: number, sizes: Sizes, offset: number): void {
    const name = Buffer.from(head.name);
    const extra = timeField(head.modifiedAt);
    const record = Buffer.concat([
      uint32s(0x02014b50),
      uint16s(versionMadeBy, versionNeeded, utf8Flag | flags, method, head.dosTime, head.dosDate),
      uint32s(sizes.crc32, sizes.packedBytes, sizes.sizeBytes),
      uint16s(name.length, extra.length, 0, 0, 0),
      uint32s(((isDirectory(head.name) ? directoryMode : fileMode) << 16) >>> 0, offset),
      name,
      extra,
    ]);
    this.#directoryBytes += record.length;
    if (this.#memberCount === maxMembers || this.#directoryBytes > maxDirectoryBytes) {
      throw new Unscrubbable('the directory of the archive is too large');
    }
    this.#memberCount += 1;
    this.#records.push(record);
    if (this.#records.length < recordsTogether) return;
    // One buffer each would take several times as much memory as the bytes in it.
    this.#directory.push(Buffer.concat(this.#records));
    this.#records = [];
  }
}

/** Whether a member of that name is a directory. */
export function isDirectory(name: string): boolean {
  return name.endsWith('/');
}

function localHeader(head: MemberHead, method: PackingMethod, flags: number, sizes: Sizes): Buffer {
  const name = Buffer.from(head.name);
  if (name.length > 0xffff) throw new Unscrubbable('a name in the archive is too long');
  return Buffer.concat([
    uint32s(0x04034b50),
    uint16s(versionNeeded, utf8Flag | flags, method, head.dosTime, head.dosDate),
    uint32s(sizes.crc32, sizes.packedBytes, sizes.sizeBytes),
    uint16s(name.length, 0),
    name,
  ]);
}

/** Info-ZIP's universal timestamp: DOS times have no zone. */
function timeField(time: Date): Buffer {
  const seconds = Math.floor(time.getTime() / 1000);
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x5455, 0);
  field.writeUInt16LE(5, 2);
  field.writeUInt8(1, 4);
  field.writeInt32LE(Math.min(0x7fffffff, Math.max(-0x80000000, seconds)), 5);
  return field;
}

function uint16s(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16LE(value, 2 * index);
  return bytes;
}

function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}
