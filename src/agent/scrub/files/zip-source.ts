import { type FileHandle, open } from 'node:fs/promises';
import { toError } from '@picket/lib/errors.ts';
import { type Entry, Reader, Uint8ArrayReader, ZipReader } from '@zip.js/zip.js';
import { Unscrubbable } from '../scrub-report.ts';

export type { Entry };

const pieceBytes = 256 * 1024;
/** The directory of an archive is read as a whole; a larger one is refused. */
const maxDirectoryBytes = 32 * 1024 * 1024;
const localHeaderBytes = 30;
const localHeaderSignature = 0x04034b50;

/** Local headers of members are not trusted, so they need not match it. */
const readerOptions = { checkLocalDirectory: false, useWebWorkers: false } as const;

/**
 * Reads an archive: its directory, and the compressed bytes of its members. Every error here is thrown as Unscrubbable.
 */
export class ZipSource {
  readonly #reader: Reader<unknown>;
  readonly #close: () => Promise<void>;

  private constructor(reader: Reader<unknown>, close: () => Promise<void>) {
    this.#reader = reader;
    this.#close = close;
  }

  static async open(path: string): Promise<ZipSource> {
    const file = await readable(() => open(path, 'r'));
    return new ZipSource(new FileReader(file), () => file.close());
  }

  static fromBytes(bytes: Buffer): ZipSource {
    return new ZipSource(new Uint8ArrayReader(bytes), async () => undefined);
  }

  /** The members, in the order of the archive's directory. */
  async *entries(): AsyncGenerator<Entry> {
    try {
      yield* new ZipReader(this.#reader, readerOptions).getEntriesGenerator();
    } catch (thrown) {
      throw unreadable(thrown);
    }
  }

  /** All compressed bytes of a member. */
  async packed(entry: Entry): Promise<Buffer> {
    return await readable(async () => await this.#read(await this.#dataStart(entry), entry.compressedSize));
  }

  /** The same, in chunks. */
  async *packedPieces(entry: Entry): AsyncGenerator<Buffer> {
    const start = await readable(() => this.#dataStart(entry));
    for (let at = 0; at < entry.compressedSize; at += pieceBytes) {
      const sizeBytes = Math.min(pieceBytes, entry.compressedSize - at);
      yield await readable(() => this.#read(start + at, sizeBytes));
    }
  }

  /** Call it when all reads have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  /** Position after the member's local header, whose length is in the header itself. */
  async #dataStart({ offset }: Entry): Promise<number> {
    const header = await this.#read(offset, localHeaderBytes);
    if (header.readUInt32LE(0) !== localHeaderSignature)
      throw new Error('a member is not at its declared position');
    return offset + localHeaderBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
  }

  async #read(position: number, sizeBytes: number): Promise<Buffer> {
    const bytes = await this.#reader.readUint8Array(position, sizeBytes);
    if (bytes.length !== sizeBytes) throw new Error('it ends too early');
    return Buffer.from(bytes.buffer, bytes.byteOffset, sizeBytes);
  }
}

/** Reads from a file that its opener closes. */
class FileReader extends Reader<FileHandle> {
  readonly #file: FileHandle;

  constructor(file: FileHandle) {
    super(file);
    this.#file = file;
  }

  override async init(): Promise<void> {
    await super.init?.();
    this.size = (await this.#file.stat()).size;
  }

  override async readUint8Array(position: number, sizeBytes: number): Promise<Uint8Array> {
    if (sizeBytes > maxDirectoryBytes) throw new Error('its directory is too large');
    const bytes = Buffer.allocUnsafe(sizeBytes);
    let filled = 0;
    while (filled < sizeBytes) {
      const { bytesRead } = await this.#file.read(bytes, filled, sizeBytes - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  }
}

/** Converts any error while an archive is read to `unreadable`. */
export async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    throw unreadable(thrown);
  }
}

/** The error for an archive that cannot be read. */
export function unreadable(cause: unknown): Unscrubbable {
  return new Unscrubbable(`the archive cannot be read: ${toError(cause).message}`, cause);
}
