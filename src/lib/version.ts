import { readFileSync } from 'node:fs';

let version: string | undefined;

/** The version of this program, from its package.json. */
export function packageVersion(): string {
  version ??= readVersion();
  return version;
}

/** Looks upwards, so that it is found from the sources and from a build in another folder. */
function readVersion(): string {
  for (let folder = new URL('../../', import.meta.url); ; folder = new URL('../', folder)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
      const isOurs = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
      if (isOurs && typeof manifest.version === 'string') return manifest.version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (folder.pathname === '/') return '0.0.0';
  }
}
