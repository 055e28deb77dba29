import { dirname, isAbsolute } from 'node:path';
import { defineProvider } from '../../provider.ts';
import { readSecretFile } from '../../read-file.ts';

/** How soon a changed file is noticed. Links are followed anew each time, which no watcher of a file does. */
const intervalMs = 1000;

/** Folders that scripts need, or that hold more than secrets: only the file itself is hidden there. */
const sharedFolders: ReadonlySet<string> = new Set(
  [
    '/',
    '/etc',
    '/run',
    '/var',
    '/var/run',
    '/var/lib',
    '/var/tmp',
    '/tmp',
    '/home',
    '/root',
    '/opt',
    '/srv',
  ].concat(['/usr', '/usr/local', '/usr/local/etc', '/mnt', '/dev', '/dev/shm', '/proc', '/sys', '/app']),
);

/**
 * Paths that scripts must not see: the file, and its folder, because a file that replaces it, or to which its link is
 * swapped, is another one.
 */
function hiddenPaths(place: string): string[] {
  const folder = dirname(place);
  return sharedFolders.has(folder) ? [place] : [place, folder];
}

/** A file, such as a mounted secret; read anew every second. */
export const file = defineProvider({
  name: 'file',
  form: 'file:/PATH',
  settings: {},
  intervalMs,
  placeProblem: (place) => (isAbsolute(place) ? undefined : 'the path must be absolute'),
  privatePaths: (_settings, places) => places.flatMap(hiddenPaths),
  open: () => ({ fetch: async (place) => ({ content: await readSecretFile(place) }) }),
});
