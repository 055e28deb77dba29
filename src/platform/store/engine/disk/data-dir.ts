import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import { makeFolders } from '@picket/lib/process/make-folders.ts';
import { sqliteBusy, sqliteCodeOf, sqliteNotADatabase } from './sqlite-code.ts';

/**
 * Locks a data directory against a second service: two schedulers and sweepers on one SQLite database would each assume
 * to be the only one. The lock is the operating system's, held through an open transaction on a separate file, so it
 * ends with the process in any case.
 *
 * @returns a function that releases the lock.
 * @throws AppError CONFIG_INVALID when another process holds it.
 */
export function lockDataDir(dataDir: string): () => void {
  makeFolders(dataDir);
  const file = join(dataDir, 'service.lock');
  keepPrivate(file);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (thrown) {
    database.close();
    const code = sqliteCodeOf(toError(thrown));
    if (code === sqliteBusy) {
      throw new AppError(
        'CONFIG_INVALID',
        `DATA_DIR: another service process uses ${dataDir}. SQLite allows one; for more, set DATABASE_URL.`,
      );
    }
    if (code === sqliteNotADatabase) {
      throw new AppError(
        'CONFIG_INVALID',
        `DATA_DIR: ${file} is not a lock file of Picket. Remove it, or set DATA_DIR to another directory.`,
        { cause: thrown },
      );
    }
    throw thrown;
  }
  return () => database.close();
}

const forOthers = 0o077;

/**
 * Makes an SQLite database readable to its owner only, regardless of folder permissions and umask. Creates it if
 * missing; the files next to it inherit its permissions.
 *
 * @returns the files that stay readable to others because another user owns them.
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
