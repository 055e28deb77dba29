import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';

/** No browser that Playwright supports was found; the message lists the searched paths and a remedy. */
export class BrowserMissing extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrowserMissing';
  }
}

export interface FoundBrowser {
  /** Absolute path, with links resolved. */
  readonly executablePath: string;
  readonly source: 'setting' | 'system' | 'package';
}

/**
 * Where distributions install Chromium. The headless shell comes first: it needs half the CPU time and two thirds of
 * the memory. Its wrapper in /usr/bin is skipped, because it remains as an extra process to terminate.
 */
const systemPaths = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
] as const;

/**
 * Finds the browser for runs: the one the operator configured, else the distribution's, else the one unpacked from an
 * npm package (`npm run runtimes:install chromium`).
 *
 * @param options.chromiumPath the setting CHROMIUM_PATH; if set, no other browser is used.
 * @param options.unpackedPath where the executable of the package is unpacked, whether or not it exists.
 * @throws BrowserMissing if no browser is found.
 */
export async function findBrowser(options: {
  readonly chromiumPath?: string | undefined;
  readonly unpackedPath?: string | undefined;
  readonly systemPaths?: readonly string[] | undefined;
}): Promise<FoundBrowser> {
  const { chromiumPath, unpackedPath } = options;
  if (chromiumPath !== undefined) {
    if (await isExecutable(chromiumPath)) {
      return { executablePath: await realpath(chromiumPath), source: 'setting' };
    }
    throw new BrowserMissing(`CHROMIUM_PATH names ${chromiumPath}, which is not an executable program`);
  }
  const paths = options.systemPaths ?? systemPaths;
  for (const path of paths) {
    if (await isExecutable(path)) return { executablePath: await realpath(path), source: 'system' };
  }
  if (unpackedPath !== undefined && (await isExecutable(unpackedPath))) {
    return { executablePath: await realpath(unpackedPath), source: 'package' };
  }
  throw new BrowserMissing(
    `No browser was found: CHROMIUM_PATH is not set, and none of these exists: ${paths.join(', ')}. ` +
      'Install the package chromium-headless-shell (or chromium), or run "npm run runtimes:install chromium"',
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return false;
    throw thrown;
  }
}
