import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import { storageProblemOf } from './storage-problem.ts';

/** A directory that the service writes to, and its setting. */
export interface ConfiguredDirectory {
  readonly variable: 'DATA_DIR' | 'ARTIFACT_STORE';
  readonly path: string;
}

/** Minimum free space at start; a new database with its files takes 5 MB. */
const startBytes = 100_000_000;

/** Runs startup work that writes to a directory; its errors name the directory and the remedy. */
export async function inDirectory<T>(directory: ConfiguredDirectory, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw asDirectoryError(toError(thrown), directory);
  }
}

/**
 * Describes in one line why a directory is unusable: STORAGE_FULL if space may become free, CONFIG_INVALID if the
 * setting or the file system needs a change. Errors unrelated to the directory stay unchanged.
 */
export function asDirectoryError(error: Error, directory: ConfiguredDirectory): Error {
  const { variable, path } = directory;
  const cause = error instanceof AppError ? error.cause : error;
  if (!(cause instanceof Error)) return error;
  if (storageProblemOf(cause) === 'full') {
    return new AppError(
      'STORAGE_FULL',
      `${variable}: the disk of ${path} is full (${freeText(path)}). Free at least ${megabytes(startBytes)} there, or set ${variable} to a directory with more room.`,
      { cause },
    );
  }
  if (error instanceof AppError) return error;
  const reason = reasonOf(error);
  if (reason === undefined) return error;
  return new AppError('CONFIG_INVALID', `${variable}: ${path} cannot be used: ${reason}`, { cause });
}

function reasonOf(error: Error): string | undefined {
  const at = 'path' in error && typeof error.path === 'string' ? ` (${error.path})` : '';
  switch (storageProblemOf(error)) {
    case 'read-only':
      return `its file system is read-only${at}. Mount it for writing (Kubernetes: a volume), or set another directory.`;
    case 'failing':
      return `its disk fails to read or write${at}. Look for a failing disk or a quota that is used up.`;
  }
  switch (errorCodeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return `user ${process.getuid?.() ?? 'of the service'} may not write there${at}. Make that user its owner (Kubernetes: fsGroup).`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `a file is where a directory must be${at}.`;
    case 'EISDIR':
      return `a directory is where a file must be${at}.`;
    case 'ENOENT':
      return `no directory can be made there${at}. Is its volume mounted?`;
    case 'ESTALE':
    case 'ENOTCONN':
    case 'ENODEV':
    case 'ENXIO':
      return `its file system is gone${at}. Mount it again.`;
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return `${error.message}.`;
  }
  return undefined;
}

function freeText(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    try {
      const { bavail, blocks, bsize } = statfsSync(at);
      return `${megabytes(bavail * bsize)} of ${megabytes(blocks * bsize)} free`;
    } catch {
      // The directory may not exist yet: the file system of its parent is the full one.
      if (at === dirname(at)) return 'no space left';
    }
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
