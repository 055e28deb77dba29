import { constants } from 'node:fs';
import { type FileHandle, lchown, mkdir, open, symlink, unlink } from 'node:fs/promises';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { WriteOptions } from '../sandbox.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * A folder that belongs to untrusted code, accessed from outside. The code may replace a folder by a link between two
 * steps along a path, so each step starts from the previous open folder (through /proc/self/fd) and follows no link.
 */
export class UntrustedFolder {
  readonly #directory: string;
  readonly #uid: number | undefined;

  /** @param uid owner of new entries; undefined for our own user. */
  constructor(directory: string, uid: number | undefined) {
    this.#directory = directory;
    this.#uid = uid;
  }

  async write(path: string, content: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    await this.#inParent(path, true, async (place) => {
      await removeIfThere(place);
      const file = await open(
        place,
        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        options.isProgram ? 0o700 : 0o600,
      );
      try {
        await file.writeFile(content);
        if (this.#uid !== undefined) await file.chown(this.#uid, this.#uid);
      } finally {
        await file.close();
      }
    });
  }

  async link(path: string, target: string): Promise<void> {
    await this.#inParent(path, true, async (place) => {
      await removeIfThere(place);
      await symlink(target, place);
      if (this.#uid !== undefined) await lchown(place, this.#uid, this.#uid);
    });
  }

  async open(path: string): Promise<FileHandle> {
    return await this.#inParent(path, false, async (place) => {
      // Non-blocking: opening a pipe without a writer would block forever.
      const file = await open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const { nlink, uid } = await file.stat().then((stat) => {
          if (!stat.isFile()) throw new Error(`${path} is not a regular file`);
          return stat;
        });
        const owner = this.#uid ?? process.getuid?.();
        // A hard link to a file elsewhere would have another owner or more than one name.
        if (uid !== owner || nlink !== 1) throw new Error(`${path} is not a file of this sandbox alone`);
        return file;
      } catch (thrown) {
        await file.close();
        throw thrown;
      }
    });
  }

  /** Calls back with the path of an entry below its parent folder, which stays open meanwhile. */
  async #inParent<T>(path: string, isMade: boolean, act: (place: string) => Promise<T>): Promise<T> {
    const steps = path.split('/');
    if (steps.some((step) => step === '' || step === '.' || step === '..' || step.includes('\0'))) {
      throw new Error(`${JSON.stringify(path)} is not a path below the sandbox's folder`);
    }
    const name = steps.pop() ?? '';
    let parent = await open(this.#directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      for (const step of steps) {
        const next = await this.#enter(`/proc/self/fd/${parent.fd}/${step}`, isMade);
        await parent.close();
        parent = next;
      }
      return await act(`/proc/self/fd/${parent.fd}/${name}`);
    } finally {
      await parent.close();
    }
  }

  async #enter(place: string, isMade: boolean): Promise<FileHandle> {
    const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    try {
      return await open(place, flags);
    } catch (thrown) {
      if (!isMade || errorCodeOf(thrown) !== 'ENOENT') throw thrown;
    }
    await mkdir(place, { mode: 0o700 });
    const folder = await open(place, flags);
    if (this.#uid !== undefined) await folder.chown(this.#uid, this.#uid);
    return folder;
  }
}

async function removeIfThere(place: string): Promise<void> {
  try {
    await unlink(place);
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'ENOENT') throw thrown;
  }
}
