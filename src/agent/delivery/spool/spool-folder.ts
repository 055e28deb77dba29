import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorCodeOf } from '@picket/lib/errors.ts';

const prefix = 'picket-spool';
const maxFolders = 64;
const sqliteBusy = 5;

/** Whose results a folder holds: those of one location at one service, without telling the key. */
export function spoolTag(serviceUrl: string, apiKey: string): string {
  return createHash('sha256').update(`picket spool\n${serviceUrl}\n${apiKey}`).digest('hex').slice(0, 16);
}

/**
 * A folder `picket-spool.TAG.NUMBER` under the spool directory that this process alone works with.
 *
 * The lock is one of the kernel's, on the file `lock`: it ends with the process, however that ends, so nobody
 * has to judge whether a process with some number still lives, in this container or another. SQLite is what
 * takes it, because Node itself has no call for locks; the file stays empty.
 */
export class SpoolFolder {
  readonly path: string;
  readonly #lock: DatabaseSync;

  private constructor(path: string, lock: DatabaseSync) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Locks the first free folder with that tag, made where it is missing. The directory is made if its own
   * parent exists.
   *
   * @throws the error of the file system where no folder can be had.
   */
  static open(directory: string, tag: string): SpoolFolder {
    makeMissing(directory);
    for (let number = 0; number < maxFolders; number++) {
      const folder = SpoolFolder.#take(join(directory, `${prefix}.${tag}.${number}`));
      if (folder) return folder;
    }
    throw new Error(`all ${maxFolders} spool folders of this location are in use`);
  }

  /** Locks every further folder with that tag that nobody holds: what agents left that do not come back. */
  static takeLeft(directory: string, tag: string, own: SpoolFolder): SpoolFolder[] {
    return readdirSync(directory)
      .filter(
        (name) =>
          name.startsWith(`${prefix}.${tag}.`) &&
          /^\d{1,3}$/.test(name.slice(prefix.length + tag.length + 2)),
      )
      .map((name) => join(directory, name))
      .filter((path) => path !== own.path)
      .flatMap((path) => SpoolFolder.#take(path) ?? []);
  }

  /** How many folders of other locations or services lie in the directory. */
  static countForeign(directory: string, tag: string): number {
    return readdirSync(directory).filter(
      (name) => name.startsWith(`${prefix}.`) && !name.startsWith(`${prefix}.${tag}.`),
    ).length;
  }

  /** @returns undefined when another process holds it, or it is not ours to use. */
  static #take(path: string): SpoolFolder | undefined {
    makeMissing(path);
    const found = lstatSync(path);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) return undefined;
    if ((found.mode & 0o777) !== 0o700) chmodSync(path, 0o700);
    const file = join(path, 'lock');
    try {
      closeSync(openSync(file, 'wx', 0o600));
    } catch (thrown) {
      if (errorCodeOf(thrown) !== 'EEXIST') throw thrown;
    }
    const { ino } = lstatSync(file);
    const lock = new DatabaseSync(file, { timeout: 0 });
    try {
      lock.exec('pragma locking_mode = exclusive; pragma journal_mode = memory; begin exclusive');
    } catch (thrown) {
      lock.close();
      if ((thrown as { errcode?: number }).errcode === sqliteBusy) return undefined;
      throw thrown;
    }
    // Its holder may have removed it just now: then this is the lock of nothing.
    if (lstatSync(file, { throwIfNoEntry: false })?.ino !== ino) {
      lock.close();
      return SpoolFolder.#take(path);
    }
    return new SpoolFolder(path, lock);
  }

  /** Gives the lock back; removes the folder as well when nothing but the lock is in it. */
  close(): void {
    try {
      if (readdirSync(this.path).every((name) => name === 'lock')) {
        rmSync(join(this.path, 'lock'));
        rmdirSync(this.path);
      }
    } catch (thrown) {
      // A folder that stays behind does no harm; one that is gone needs no removal.
      if (errorCodeOf(thrown) === undefined) throw thrown;
    } finally {
      this.#lock.close();
    }
  }
}

/** Not recursive: under /proc that never ends (Node 24). */
function makeMissing(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'EEXIST') throw thrown;
  }
}
