import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

/**
 * Files that a run left in its folder. A script may have created links that lead anywhere, and the agent may have more
 * read permissions than the script. So only regular files count, with a single name, on a path without links, and only
 * after every process of the run is dead and nothing can change.
 */

const maxWalkedEntries = 5000;

/** Returns the path and the size in bytes of a file below the folder; undefined if it must not be read. */
export async function leftFile(
  directory: string,
  path: string,
): Promise<{ readonly path: string; readonly sizeBytes: number } | undefined> {
  const root = await realpath(directory);
  const inside = relative(directory, resolve(directory, path));
  if (path.includes('\0')) return undefined; // such a name is impossible, and Node throws
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`)) return undefined;
  const wanted = join(root, inside);
  try {
    if ((await realpath(wanted)) !== wanted) return undefined;
    const found = await lstat(wanted);
    if (!found.isFile() || found.nlink !== 1) return undefined;
    return { path: wanted, sizeBytes: found.size };
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
}

/** Temporary files of Playwright and its browsers, which remain when those are killed. */
const scratchFolder = /^playwright[-_]/;

/**
 * Finds files with one of the extensions, in the folder and below, except in excluded folders; returns relative paths.
 */
export async function findLeft(
  directory: string,
  options: { readonly extensions: ReadonlySet<string>; readonly except: ReadonlySet<string> },
): Promise<string[]> {
  const found: string[] = [];
  const folders = [''];
  let walked = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    let entries: Dirent[];
    try {
      entries = await readdir(join(directory, folder), { withFileTypes: true });
    } catch (thrown) {
      if (isMissing(thrown)) continue;
      throw thrown;
    }
    for (const entry of entries) {
      walked += 1;
      if (walked > maxWalkedEntries) return found;
      const path = join(folder, entry.name);
      if (options.except.has(path)) continue;
      if (entry.isDirectory()) {
        if (!scratchFolder.test(entry.name)) folders.push(path);
      } else if (entry.isFile() && options.extensions.has(extension(entry.name))) found.push(path);
    }
  }
  return found.sort();
}

function extension(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}

function isMissing(thrown: unknown): boolean {
  const code = (thrown as NodeJS.ErrnoException).code;
  return (
    code === 'ENOENT' ||
    code === 'ENOTDIR' ||
    code === 'ELOOP' ||
    code === 'EACCES' ||
    code === 'ENAMETOOLONG'
  );
}
