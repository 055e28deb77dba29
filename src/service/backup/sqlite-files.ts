import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '@picket/lib/errors.ts';
import { keepPrivate } from '@picket/platform/store/engine/disk/data-dir.ts';

export const databaseName = 'picket.sqlite';

/** Copies a database as of one instant, while a service writes to it. */
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
 * Copies the database of a backup next to its final location, and checks it for damage.
 *
 * @throws AppError CONFIG_INVALID if it is damaged.
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
    // Enables a database of an older build, however large, to release free space.
    const [mode] = database.prepare('pragma auto_vacuum').all();
    if (mode?.auto_vacuum === 0) database.exec('pragma auto_vacuum = incremental; vacuum');
  } finally {
    database.close();
  }
}

/** Files of the database in a folder: the database itself, and its write-ahead log and journal. */
export function databaseFiles(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) =>
    ['', '-wal', '-shm', '-journal'].some((end) => name === databaseName + end),
  );
}

/**
 * Replaces the existing database by a staged one. All of its files are moved to a separate folder: a log that stayed
 * behind would be replayed into the wrong database.
 *
 * @returns the folder, if there was anything to move.
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
