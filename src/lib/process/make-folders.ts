import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCodeOf } from '../errors.ts';

/**
 * Makes a folder and those above it that are missing, for this user alone. Not by Node's `recursive`: under a file system that
 * makes no folders (/proc) that never ends.
 *
 * @throws the error of the file system.
 */
export function makeFolders(path: string): void {
  const folder = resolve(path);
  const missing: string[] = [];
  for (let at = folder; !exists(at); at = dirname(at)) missing.unshift(at);
  for (const each of missing) makeOne(each);
  // What is there may be a file.
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
