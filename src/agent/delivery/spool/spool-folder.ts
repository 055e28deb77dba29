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

/** Tag of the spool folders of one location at one service; it does not reveal the key. */
export function spoolTag(serviceUrl: string, apiKey: string): string {
  return createHash('sha256').update(`picket spool\n${serviceUrl}\n${apiKey}`).digest('hex').slice(0, 16);
}

/**
 * A folder `picket-spool.TAG.NUMBER` under the spool directory that only this process uses.
 *
 * The kernel holds the lock, on the file `lock`: it ends with the process, however that ends, so no process has to
 * guess whether a process id is still alive, in this container or another. SQLite takes the lock, because Node has no
 * API for file locks; the file stays empty.
 */
export class SpoolFolder {
  readonly path: string;
  readonly #lock: DatabaseSync;

  private constructor(path: string, lock: DatabaseSync) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Locks the first free folder with that tag, creating it if missing. The directory is created if its parent exists.
   *
   * @throws the error of the file system if no folder can be locked.
   */
  static open(directory: string, tag: string): SpoolFolder {
    makeMissing(directory);
    for (let number = 0; number < maxFolders; number++) {
      const folder = SpoolFolder.#take(join(directory, `${prefix}.${tag}.${number}`));
      if (folder) return folder;
    }
    throw new Error(`all ${maxFolders} spool folders of this location are in use`);
  }

  /** Locks every other unlocked folder with that tag: folders of agents that no longer run. */
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

  /** Number of folders of other locations or services in the directory. */
  static countForeign(directory: string, tag: string): number {
    return readdirSync(directory).filter(
      (name) => name.startsWith(`${prefix}.`) && !name.startsWith(`${prefix}.${tag}.`),
    ).length;
  }

  /** @returns undefined if another process holds it, or it is not a folder owned by this user. */
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
    // The previous holder may have just removed the file; then this lock has no effect.
    if (lstatSync(file, { throwIfNoEntry: false })?.ino !== ino) {
      lock.close();
      return SpoolFolder.#take(path);
    }
    return new SpoolFolder(path, lock);
  }

  /** Releases the lock, and removes the folder if it contains only the lock. */
  close(): void {
    try {
      if (readdirSync(this.path).every((name) => name === 'lock')) {
        rmSync(join(this.path, 'lock'));
        rmdirSync(this.path);
      }
    } catch (thrown) {
      // A folder that remains is harmless; a missing folder needs no removal.
      if (errorCodeOf(thrown) === undefined) throw thrown;
    } finally {
      this.#lock.close();
    }
  }
}

/** Not recursive: under /proc a recursive mkdir never ends (Node 24). */
function makeMissing(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'EEXIST') throw thrown;
  }
}
