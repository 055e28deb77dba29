import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemProgram } from './launch.ts';

const run = promisify(execFile);
const quiet = { env: { LC_ALL: 'C' }, maxBuffer: 64 * 1024 * 1024 };

/**
 * Removes a folder and everything in it, however deep, unreadable or full of links. Coreutils work relative to open
 * folders: no link is followed and no path becomes too long. No process may still run in it.
 *
 * @throws Error if something is left.
 */
export async function wipeFolder(directory: string): Promise<void> {
  const remove = () => run(systemProgram('rm'), ['-rf', '--one-file-system', '--', directory], quiet);
  await remove().catch(async () => {
    // A plain user cannot empty folders without its own permission bits.
    await run(systemProgram('chmod'), ['-R', 'u+rwX', '--', directory], quiet).catch(() => undefined); // `rm` reports
    await remove();
  });
  const isLeft = await lstat(directory).then(
    () => true,
    () => false,
  );
  if (isLeft) throw new Error(`${directory} could not be removed`);
}

/** World-writable folders, if they exist. */
const sharedFolders = ['/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/dev/mqueue'];

/** Removes a user's files in world-writable folders, and System V IPC objects. Its processes must be dead. */
export async function sweepLeftovers(uid: number): Promise<void> {
  const remove = ['-exec', systemProgram('rm'), '-rf', '--one-file-system', '--', '{}', '+'];
  // Other users' files appear and vanish meanwhile, so find may fail although its work is done.
  await run(systemProgram('find'), [...presentFolders(), ...ownedBy(uid), ...remove], quiet).catch(
    () => undefined,
  );
  for (const [file, option] of [
    ['shm', '-m'],
    ['sem', '-s'],
    ['msg', '-q'],
  ] as const) {
    for (const id of ipcIds(file, uid)) await run(systemProgram('ipcrm'), [option, id], quiet);
  }
}

function presentFolders(): string[] {
  return sharedFolders.filter((folder) => existsSync(folder));
}

/** Bytes on disk and in memory of a user's files in world-writable folders. */
export async function sharedSizeBytes(uid: number): Promise<number> {
  const measure = ['-exec', systemProgram('du'), '-skx', '--', '{}', '+'];
  const find = run(systemProgram('find'), [...presentFolders(), ...ownedBy(uid), ...measure], quiet);
  // Other users' files appear and vanish meanwhile, and some folders are not readable: the files found count.
  const { stdout } = await find.catch((failure: { stdout?: string }) => ({ stdout: failure.stdout ?? '' }));
  return stdout.split('\n').reduce((sum, line) => sum + Number(line.split('\t')[0] || 0) * 1024, 0);
}

/** Further down only the owner may write, so a user's files are below something it owns, which counts as a whole. */
function ownedBy(uid: number): string[] {
  return ['-xdev', '-mindepth', '1', '-maxdepth', '2', '-user', String(uid), '-prune'];
}

function ipcIds(file: string, uid: number): string[] {
  let table: string;
  try {
    table = readFileSync(`/proc/sysvipc/${file}`, 'latin1');
  } catch {
    return []; // a kernel without it
  }
  const [head = '', ...rows] = table.trim().split('\n');
  const names = head.trim().split(/\s+/);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => Number(row[names.indexOf('uid')]) === uid)
    .flatMap((row) => row[1] ?? []);
}

/**
 * Returns the bytes that a folder occupies on disk.
 *
 * @returns undefined if parts of it cannot be read.
 */
export async function folderSizeBytes(directory: string): Promise<number | undefined> {
  const measure = run(systemProgram('du'), ['-skx', '--', directory], quiet);
  const { stdout, stderr } = await measure.catch((failure: { stdout?: string; stderr?: string }) => ({
    stdout: failure.stdout ?? '', // du fails if files vanish meanwhile, but still prints the sum
    stderr: failure.stderr ?? '',
  }));
  if (stderr.includes('Permission denied')) return undefined;
  return Number(stdout.split('\t')[0] || 0) * 1024;
}
