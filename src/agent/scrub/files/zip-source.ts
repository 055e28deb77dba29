import { open } from 'node:fs/promises';
import { type Entry, fromBufferPromise, fromFdPromise, type ZipFile } from 'yauzl';
import { toError } from '../../../lib/errors.ts';
import { Unscrubbable } from '../scrub-report.ts';

const pieceBytes = 256 * 1024;
const readerOptions = { lazyEntries: true, autoClose: false, strictFileNames: false } as const;

/** An archive to read: its directory, and the packed bytes of its members. Whatever fails here throws Unscrubbable. */
export class ZipSource {
  readonly #archive: ZipFile;
  readonly #readAt: (position: number, sizeBytes: number) => Promise<Buffer>;
  readonly #close: () => Promise<void>;

  private constructor(
    archive: ZipFile,
    readAt: (position: number, sizeBytes: number) => Promise<Buffer>,
    close: () => Promise<void>,
  ) {
    this.#archive = archive;
    this.#readAt = readAt;
    this.#close = close;
  }

  static async open(path: string): Promise<ZipSource> {
    // The descriptor is ours: closing it waits for reads that are under way, which yauzl's own closing does not.
    const file = await readable(() => open(path, 'r'));
    try {
      const archive = await readable(() => fromFdPromise(file.fd, readerOptions));
      const readAt = async (position: number, sizeBytes: number) => {
        const bytes = Buffer.allocUnsafe(sizeBytes);
        for (let at = 0; at < sizeBytes; ) {
          const { bytesRead } = await file.read(bytes, at, sizeBytes - at, position + at);
          if (bytesRead === 0) throw new Error('it ends too early');
          at += bytesRead;
        }
        return bytes;
      };
      return new ZipSource(archive, readAt, () => file.close());
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  }

  static async fromBytes(bytes: Buffer): Promise<ZipSource> {
    const archive = await readable(() => fromBufferPromise(bytes, readerOptions));
    const readAt = async (position: number, sizeBytes: number) =>
      bytes.subarray(position, position + sizeBytes);
    return new ZipSource(archive, readAt, async () => undefined);
  }

  /** The members, in the order of the archive's directory. */
  async *entries(): AsyncGenerator<Entry> {
    try {
      yield* this.#archive.eachEntry();
    } catch (thrown) {
      throw unreadable(thrown);
    }
  }

  /** What the archive holds of a member: packed bytes, all of them. */
  async packed(entry: Entry): Promise<Buffer> {
    return await readable(async () => await this.#readAt(await this.#dataStart(entry), entry.compressedSize));
  }

  /** The same, piece by piece. */
  async *packedPieces(entry: Entry): AsyncGenerator<Buffer> {
    const start = await readable(() => this.#dataStart(entry));
    for (let at = 0; at < entry.compressedSize; at += pieceBytes) {
      const sizeBytes = Math.min(pieceBytes, entry.compressedSize - at);
      yield await readable(() => this.#readAt(start + at, sizeBytes));
    }
  }

  /** To be called once nothing reads any more. */
  async close(): Promise<void> {
    await this.#close();
  }

  /** Refuses what would end beyond the archive's end. */
  async #dataStart(entry: Entry): Promise<number> {
    const { fileDataStart } = await this.#archive.readLocalFileHeaderPromise(entry, { minimal: true });
    return fileDataStart;
  }
}

/** Whatever fails while an archive is read makes it one that cannot be read. */
export async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    throw unreadable(thrown);
  }
}

/** The refusal of an archive that cannot be read. */
export function unreadable(cause: unknown): Unscrubbable {
  return new Unscrubbable(`the archive cannot be read: ${toError(cause).message}`, cause);
}
