import { readFileSync } from 'node:fs';

interface Package {
  readonly folder: URL;
  readonly version: string;
}

let found: Package | undefined;

/** Returns the version of this program from its package.json. */
export function packageVersion(): string {
  found ??= find();
  return found.version;
}

/** Returns the folder of this package, with a trailing slash. */
export function packageFolder(): URL {
  found ??= find();
  return found.folder;
}

/** Searches upwards for the package `picket`, so that both the sources and a build in another folder find it. */
function find(): Package {
  const start = new URL('./', import.meta.url);
  for (let folder = start; ; folder = new URL('../', folder)) {
    try {
      const manifest: { name?: unknown; version?: unknown } = JSON.parse(
        readFileSync(new URL('package.json', folder), 'utf8'),
      );
      const { name, version } = manifest;
      if (name === 'picket' && typeof version === 'string') return { folder, version };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (folder.pathname === '/') return { folder: start, version: '0.0.0' };
  }
}
