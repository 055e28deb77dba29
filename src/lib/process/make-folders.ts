import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCodeOf } from '../errors.ts';

/**
 * Creates a folder and its missing parents, accessible to this user only. Does not use Node's `recursive`, which never
 * returns on a file system without mkdir (/proc).
 *
 * @throws the error of the file system.
 */
export function makeFolders(path: string): void {
  const folder = resolve(path);
  const missing: string[] = [];
  for (let at = folder; !exists(at); at = dirname(at)) missing.unshift(at);
  for (const each of missing) makeOne(each);
  // The existing path may be a file, in which case this throws.
  if (missing.length === 0) makeOne(folder);
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'EEXIST' && statSync(path).isDirectory()) return;
    throw thrown;
  }
}
