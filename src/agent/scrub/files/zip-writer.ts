import { posix } from 'node:path';
import { ZipWriter as Packer, Uint8ArrayReader } from '@zip.js/zip.js';
import { Unscrubbable } from '../scrub-report.ts';
import { compressionLevel } from './raw-deflate.ts';

/** Directory entry of a member. */
export interface MemberHead {
  /** Names that end with `/` are directories. */
  readonly name: string;
  readonly modifiedAt: Date;
}

/** How a member is compressed: stored, or deflated. */
export type PackingMethod = 0 | 8;

export interface PackedMember {
  readonly method: PackingMethod;
  /** Both of the uncompressed bytes. */
  readonly crc32: number;
  readonly sizeBytes: number;
  readonly packed: Buffer;
}

const maxNameBytes = 0xffff;
/** Size limit for the names of all members, which stay in memory until the end. */
const maxDirectoryBytes = 16 * 1024 * 1024;
/** Approximate size of a directory record in addition to its name. */
const directoryRecordBytes = 64;
/** Small writes are joined up to this size. */
const writeBytes = 256 * 1024;

/** All of this runs on the calling thread: the expensive work is already done. */
const packing = {
  useWebWorkers: false,
  bufferedWrite: false,
  zip64: false,
  versionMadeBy: 63,
} as const;

/**
 * Writes an archive from members that are already compressed, one at a time, in the order in which they are added.
 * Copies nothing from the headers of another archive.
 */
export class ZipWriter {
  readonly #write: (bytes: Buffer) => Promise<void>;
  readonly #packer: Packer<unknown>;
  readonly #names = new Set<string>();
  /** How often a name was already in use. */
  readonly #copies = new Map<string, number>();
  #directoryBytes = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  /** @param write consumes all bytes; it is not called again before its promise has resolved. */
  constructor(write: (bytes: Buffer) => Promise<void>) {
    this.#write = write;
    const sink = new WritableStream<Uint8Array>({ write: (bytes) => this.#put(bytes) });
    this.#packer = new Packer(sink, packing);
  }

  /** @throws Unscrubbable if the directory exceeds its size limit; so does `addPieces`. */
  async add(head: MemberHead, { method, crc32, sizeBytes, packed }: PackedMember): Promise<void> {
    const name = this.#listed(head);
    if (isDirectory(name)) {
      await this.#packer.add(name, undefined, { directory: true, lastModDate: head.modifiedAt });
      return;
    }
    await this.#packer.add(name, new Uint8ArrayReader(packed), {
      passThrough: true,
      compressionMethod: method,
      uncompressedSize: sizeBytes,
      signature: crc32,
      dataDescriptor: false,
      lastModDate: head.modifiedAt,
    });
  }

  /** Compresses and adds a member in chunks. If the source fails before the first chunk, no member is added. */
  async addPieces(head: MemberHead, pieces: AsyncIterable<Buffer>): Promise<void> {
    const rest = pieces[Symbol.asyncIterator]();
    const first = await rest.next();
    const name = this.#listed(head);
    const content = new ReadableStream<Uint8Array>({
      start(controller) {
        if (first.done === true) controller.close();
        else controller.enqueue(first.value);
      },
      async pull(controller) {
        const next = await rest.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await rest.return?.();
      },
    });
    await this.#packer.add(name, content, { level: compressionLevel, lastModDate: head.modifiedAt });
  }

  /** Writes the directory and ends the archive. */
  async end(): Promise<void> {
    await this.#packer.close();
    await this.#flush();
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= writeBytes) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#write(bytes);
  }

  /** Name of a member: its own, or a variant if that is in use, for example if two names differed only in secrets. */
  #listed({ name }: MemberHead): string {
    let free = name;
    while (this.#names.has(free)) {
      const copy = (this.#copies.get(name) ?? 1) + 1;
      this.#copies.set(name, copy);
      const { dir, name: stem, ext } = posix.parse(name);
      free = `${posix.join(dir, `${stem} (${copy})${ext}`)}${isDirectory(name) ? '/' : ''}`;
    }
    const nameBytes = Buffer.byteLength(free);
    if (nameBytes > maxNameBytes) throw new Unscrubbable('a name in the archive is too long');
    this.#directoryBytes += nameBytes + directoryRecordBytes;
    if (this.#directoryBytes > maxDirectoryBytes) {
      throw new Unscrubbable('the directory of the archive is too large');
    }
    this.#names.add(free);
    return free;
  }
}

/** Whether a member of that name is a directory. */
export function isDirectory(name: string): boolean {
  return name.endsWith('/');
}
