import { existsSync, lstatSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { defineProvider } from '../../provider.ts';
import { readSecretFile } from '../../read-file.ts';

/** How soon a changed file is noticed. Links are followed anew each time, which no watcher of a file does. */
const intervalMs = 1000;

/** Names of folders that hold nothing else: `/run/secrets`, `/vault/secrets`, `/mnt/secrets-store`. */
const secretFolder = /secret|credential|vault/i;

/** A file, such as a mounted secret; read anew every second. */
export const file = defineProvider({
  name: 'file',
  form: 'file:/PATH',
  settings: {},
  intervalMs,
  placeProblem: (place) => (isAbsolute(place) ? undefined : 'the path must be absolute'),
  privatePaths: (_settings, places) => [...new Set(places.flatMap(hiddenPaths))],
  open: () => ({ fetch: async (place) => ({ content: await readSecretFile(place) }) }),
});

/**
 * Paths that scripts must not see: the file, and the folder of a link or of secrets. A file that replaces the hidden
 * one, or to which its link is swapped, is another file.
 */
function hiddenPaths(place: string): string[] {
  const folder = dirname(place);
  const isLinked = existsSync(join(folder, '..data')) || isLink(place);
  return isLinked || secretFolder.test(basename(folder)) ? [place, folder] : [place];
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}
