import { errorCodeOf } from '@picket/lib/errors.ts';

/** Reason why a place refuses writes. */
export type StorageProblem = 'full' | 'read-only' | 'failing';

const byCode: Readonly<Record<string, StorageProblem>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  '53100': 'full',
  EROFS: 'read-only',
  EIO: 'failing',
};
/** SQLite result codes: disk full, and a shared index that could not grow; read-only; I/O error. */
const byResult: Readonly<Record<number, StorageProblem>> = { 13: 'full', 8: 'read-only', 10: 'failing' };
const sharedIndexGrowth = 4874;

/** Returns the disk problem behind an error of a file system, SQLite or PostgreSQL; undefined for other errors. */
export function storageProblemOf(error: Error): StorageProblem | undefined {
  const known = byCode[errorCodeOf(error) ?? ''];
  if (known !== undefined) return known;
  const result = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
  if (result === null) return undefined;
  return result === sharedIndexGrowth ? 'full' : byResult[result & 0xff];
}

const words: Readonly<Record<StorageProblem, string>> = {
  full: 'is full, so nothing can be stored. Free space there. The service then continues.',
  'read-only': 'is read-only: nothing is stored. Mount it for writing.',
  failing: 'fails to read or write (input/output error). Look for a failing disk or a quota that is used up.',
};

/** Describes the problem in a sentence about the affected disk. */
export function describeStorage(problem: StorageProblem, error: Error): string {
  const code = errorCodeOf(error);
  if (code === '53100') return `The disk of the PostgreSQL server ${words[problem]}`;
  const isDatabase = 'errcode' in error || 'isOfDatabase' in error;
  return `${isDatabase ? 'The disk of the data directory (DATA_DIR)' : 'A disk of the service'} ${words[problem]}`;
}
