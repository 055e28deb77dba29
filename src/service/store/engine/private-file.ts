import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { errorCodeOf } from '../../../lib/errors.ts';

const forOthers = 0o077;

/**
 * Makes a database of SQLite one that only its owner reads, whatever the folder's rights and the umask are:
 * created so when it is missing, and so are the files next to it, which take the rights of the database.
 *
 * @returns the files that are still open to others, because somebody else owns them.
 */
export function keepPrivate(path: string): string[] {
  closeSync(openSync(path, 'a', 0o600));
  const files = ['', '-wal', '-shm', '-journal'].map((end) => path + end).filter((file) => existsSync(file));
  return files.filter((file) => {
    if ((statSync(file).mode & forOthers) === 0) return false;
    try {
      chmodSync(file, 0o600);
      return false;
    } catch (thrown) {
      if (errorCodeOf(thrown) === 'EPERM') return true;
      throw thrown;
    }
  });
}
