import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '@picket/lib/errors.ts';
import { keepPrivate } from '@picket/platform/store/engine/disk/data-dir.ts';

export const databaseName = 'picket.sqlite';

/** Copies a database as it is at one instant, while a service writes to it. */
export function copyDatabase(from: string, to: string): void {
  const database = new DatabaseSync(from, { readOnly: true });
  try {
    database.exec('pragma busy_timeout = 5000');
    database.prepare('vacuum into ?').run(to);
  } finally {
    database.close();
  }
  keepPrivate(to);
}

/**
 * A copy of a backup's database next to its later place, looked through for damage.
 *
 * @throws AppError CONFIG_INVALID when it is damaged.
 */
export function stageDatabase(backup: string, staged: string): void {
  copyFileSync(backup, staged);
  keepPrivate(staged);
  const database = new DatabaseSync(staged);
  try {
    const [row] = database.prepare('pragma quick_check(1)').all();
    if (row?.quick_check !== 'ok') {
      throw new AppError('CONFIG_INVALID', `${backup} is damaged: ${String(row?.quick_check)}.`);
    }
    // One of an older build, however large, learns to give space back.
    const [mode] = database.prepare('pragma auto_vacuum').all();
    if (mode?.auto_vacuum === 0) database.exec('pragma auto_vacuum = incremental; vacuum');
  } finally {
    database.close();
  }
}

/** The files of the database in a folder: itself, and the log of writes that belongs to it alone. */
export function databaseFiles(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) =>
    ['', '-wal', '-shm', '-journal'].some((end) => name === databaseName + end),
  );
}

/**
 * Puts a staged database in the place of the one that is there. All files of that one are moved to a folder
 * of their own: a log of writes that stayed behind would be replayed into a database it does not belong to.
 *
 * @returns the folder, when there was anything to move.
 */
export function putDatabase(staged: string, dataDir: string, now: number): string | undefined {
  const old = databaseFiles(dataDir);
  const aside = join(dataDir, `replaced-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`);
  if (old.length > 0) mkdirSync(aside, { mode: 0o700 });
  for (const name of old) renameSync(join(dataDir, name), join(aside, name));
  renameSync(staged, join(dataDir, databaseName));
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
  return old.length > 0 ? aside : undefined;
}
