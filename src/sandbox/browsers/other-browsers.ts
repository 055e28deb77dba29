import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { browserVersion } from './browser-version.ts';

/** A browser besides Chromium that scripts and suites can open. */
export interface OtherBrowser {
  /** Playwright's name: `firefox`, `webkit`, `chrome` or `msedge`. */
  readonly name: string;
  /** The number of Playwright's build of Firefox and WebKit, such as `1490`; the major version of others. */
  readonly version: string;
  /** Its folder, or the executable of one that the system has. */
  readonly path: string;
}

/** Where the packages of their makers install them, and where Playwright looks for these channels. */
const branded = [
  ['chrome', '/opt/google/chrome/chrome'],
  ['msedge', '/opt/microsoft/msedge/msedge'],
] as const;

/** A folder that Playwright installs a build in; some systems have builds of their own. */
const buildFolder = /^(firefox|webkit)(?:_[a-z0-9_]+)?-(\d{1,9})$/;
/** Playwright writes it into a complete one. */
const completeName = 'INSTALLATION_COMPLETE';

/** The folder of an agent's browsers: the setting BROWSERS_DIR, or one next to the runtimes. */
export function browsersDirectoryOf(settings: {
  readonly browsersDirectory?: string | undefined;
  readonly runtimesDirectory: string;
}): string {
  return settings.browsersDirectory ?? join(settings.runtimesDirectory, 'browsers');
}

/**
 * Finds the browsers that the operator has installed (`picket browsers install`, packages of their makers).
 *
 * @param directory in the layout of Playwright's own installations; need not exist.
 */
export async function findOtherBrowsers(
  directory: string,
  systemBrowsers: readonly (readonly [name: string, path: string])[] = branded,
): Promise<readonly OtherBrowser[]> {
  const builds = (await namesIn(directory)).map(async (folder): Promise<OtherBrowser[]> => {
    const [, name, version] = buildFolder.exec(folder) ?? [];
    if (name === undefined || version === undefined) return [];
    const path = join(directory, folder);
    return (await isThere(join(path, completeName))) ? [{ name, version, path }] : [];
  });
  const others = systemBrowsers.map(async ([name, path]): Promise<OtherBrowser[]> => {
    if (!(await isThere(path, constants.X_OK))) return [];
    // "Google Chrome 142"
    const version = (await browserVersion(path))?.split(' ').at(-1);
    return version === undefined ? [] : [{ name, version, path }];
  });
  return (await Promise.all([...builds, ...others])).flat();
}

/** Changes when a browser is installed or removed. */
export async function otherBrowsersState(directory: string): Promise<string> {
  const builds = (await namesIn(directory)).filter((name) => buildFolder.test(name)).sort();
  const files = [
    ...builds.map((name) => join(directory, name, completeName)),
    ...branded.map(([, path]) => path),
  ];
  const present = await Promise.all(files.map(async (file) => ((await isThere(file)) ? [file] : [])));
  return present.flat().join(' ');
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errorCodeOf(thrown) ?? '')) return [];
    throw thrown;
  }
}

async function isThere(path: string, mode: number = constants.R_OK): Promise<boolean> {
  try {
    await access(path, mode);
    return (await stat(path)).isFile();
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errorCodeOf(thrown) ?? '')) return false;
    throw thrown;
  }
}
