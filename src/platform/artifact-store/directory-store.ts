import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import { makeFolders } from '@picket/lib/process/make-folders.ts';
import { freeBytesOf, type StorageFigures } from '../store/engine/disk/free-space.ts';
import { storageProblemOf } from '../store/engine/disk/storage-problem.ts';
import type { ArtifactStore, ByteRange } from './artifact-store.ts';
import { type ExpectedContent, VerifiedContent } from './verified-content.ts';

/** Incoming files older than this were left behind by a process that died. */
const incomingMaxAgeMs = 6 * 3_600_000;

/**
 * Artifacts in a directory: `objects/` holds complete files, `incoming/` files being written. An object is written to
 * its own file in `incoming/`, flushed (fsync) and renamed to its place, and the target folder is flushed. A rename is
 * atomic, so after a crash at any instant an object is complete or absent; a later start removes leftovers in
 * `incoming/`. Several processes may share the directory.
 */
export class DirectoryStore implements ArtifactStore {
  readonly description: string;
  readonly #objects: string;
  readonly #incoming: string;
  readonly #putting = new Set<Promise<void>>();
  #refusedWrites = 0;

  private constructor(directory: string) {
    this.description = `directory ${directory}`;
    this.#objects = join(directory, 'objects');
    this.#incoming = join(directory, 'incoming');
  }

  /** Opens the directory and creates it if missing. */
  static async open(directory: string): Promise<DirectoryStore> {
    const store = new DirectoryStore(resolve(directory));
    makeFolders(store.#objects);
    makeFolders(store.#incoming);
    await store.#removeLeftovers();
    return store;
  }

  async put(key: string, content: Readable, expected: ExpectedContent): Promise<void> {
    const putting = this.#put(key, content, expected);
    this.#putting.add(putting);
    try {
      await putting;
    } finally {
      this.#putting.delete(putting);
    }
  }

  async #put(key: string, content: Readable, expected: ExpectedContent): Promise<void> {
    const incoming = join(this.#incoming, randomUUID());
    const place = this.#placeOf(key);
    try {
      const file = createWriteStream(incoming, { flags: 'wx', mode: 0o600, flush: true });
      await pipeline(content, new VerifiedContent(expected), file);
      await mkdir(dirname(place), { recursive: true, mode: 0o700 });
      await rename(incoming, place);
      await syncFolder(dirname(place));
    } catch (thrown) {
      await rm(incoming, { force: true });
      if (storageProblemOf(toError(thrown)) !== undefined) this.#refusedWrites += 1;
      throw asPutError(thrown);
    }
  }

  async open(key: string, range?: ByteRange): Promise<Readable | undefined> {
    const place = this.#placeOf(key);
    try {
      const file = await open(place, 'r');
      return file.createReadStream(range ? { start: range.first, end: range.last } : {});
    } catch (thrown) {
      if (errorCodeOf(thrown) === 'ENOENT') return undefined;
      throw new AppError('STORE_UNAVAILABLE', 'The artifact cannot be read at the moment.', {
        cause: thrown,
      });
    }
  }

  async storage(): Promise<StorageFigures> {
    return { refusedWrites: this.#refusedWrites, freeBytes: await freeBytesOf(this.#objects) };
  }

  async remove(key: string): Promise<void> {
    await rm(this.#placeOf(key), { force: true });
  }

  async removeFolder(folder: string): Promise<void> {
    await rm(this.#placeOf(folder), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    // Failing uploads still have a file to remove.
    await Promise.allSettled(this.#putting);
  }

  #placeOf(key: string): string {
    const parts = key.split('/');
    // Keys consist of ids and numbers; any other key is our own bug and must not escape the directory.
    if (!parts.every((part) => /^[\w-]+$/.test(part))) throw new Error(`not a key of an artifact: ${key}`);
    return join(this.#objects, ...parts);
  }

  async #removeLeftovers(): Promise<void> {
    const before = Date.now() - incomingMaxAgeMs;
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name);
      const isOld = await stat(path).then(
        ({ mtimeMs }) => mtimeMs < before,
        () => false, // another process has just completed it
      );
      if (isOld) await rm(path, { force: true });
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function asPutError(thrown: unknown): Error {
  const code = errorCodeOf(thrown);
  if (storageProblemOf(toError(thrown)) === 'full' || code === 'EFBIG') {
    return new AppError('ARTIFACT_STORE_FULL', 'The disk of the artifact store is full. Make room there.', {
      cause: thrown,
    });
  }
  if (code === 'EACCES' || code === 'EROFS' || code === 'EIO' || code === 'EMFILE' || code === 'ENFILE') {
    return new AppError('STORE_UNAVAILABLE', 'The artifact cannot be written at the moment.', {
      cause: thrown,
    });
  }
  return toError(thrown);
}
