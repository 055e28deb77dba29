import { mkdir, readFile, readlink, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Runtime } from '../runtimes/runtimes.ts';
import type { FoundBrowser } from './find-browser.ts';

/**
 * A folder in which every version of Playwright finds its browser at the path of its own download, so that scripts and
 * suites need no setting: `PLAYWRIGHT_BROWSERS_PATH`. All paths link to the one browser of this host.
 */
export interface BrowserLinks {
  readonly directory: string;
  /** The browser that all links point to. */
  readonly executablePath: string;
  /** Without ffmpeg videos are disabled: Playwright would otherwise fail every page with a recording. */
  readonly ffmpegPath?: string | undefined;
}

/**
 * Paths that the versions of Playwright use below a revision's folder; the first is that of 1.5x on machines other than
 * x64.
 */
const shellPaths = ['chrome-linux/headless_shell', 'chrome-headless-shell-linux64/chrome-headless-shell'];
const browserPaths = ['chrome-linux/chrome', 'chrome-linux64/chrome'];
const ffmpegPaths = ['ffmpeg-linux'];
/** How long before Playwright examines the libraries of a browser again: longer than an agent runs. */
const validatedYears = 10;

/**
 * Creates the links for the Playwright versions of some runtimes. Existing correct links are kept, so the call is
 * idempotent.
 *
 * @param options.ffmpegPath a program such as /usr/bin/ffmpeg, if installed.
 */
export async function linkBrowsers(options: {
  readonly directory: string;
  readonly browser: FoundBrowser;
  readonly ffmpegPath?: string | undefined;
  readonly runtimes: readonly Pick<Runtime, 'modulesDirectory'>[];
}): Promise<BrowserLinks> {
  const { directory, browser, ffmpegPath } = options;
  const { executablePath } = browser;
  for (const { modulesDirectory } of options.runtimes) {
    const revisions = await browserRevisions(modulesDirectory);
    if (revisions.shell !== undefined) {
      await placeLinks(
        join(directory, `chromium_headless_shell-${revisions.shell}`),
        shellPaths,
        executablePath,
      );
    }
    await placeLinks(join(directory, `chromium-${revisions.chromium}`), browserPaths, executablePath);
    if (ffmpegPath !== undefined) {
      await placeLinks(join(directory, `ffmpeg-${revisions.ffmpeg}`), ffmpegPaths, ffmpegPath);
    }
  }
  return { directory, executablePath, ffmpegPath };
}

async function browserRevisions(modulesDirectory: string) {
  const file = join(modulesDirectory, 'playwright-core/browsers.json');
  const { browsers } = JSON.parse(await readFile(file, 'utf8')) as {
    browsers: readonly { readonly name: string; readonly revision: string }[];
  };
  const known = (name: string) => browsers.find((entry) => entry.name === name)?.revision;
  const revision = (name: string) => {
    const found = known(name);
    if (found === undefined) throw new Error(`${file} names no ${name}`);
    return found;
  };
  return {
    chromium: revision('chromium'),
    // Before 1.49 Chromium itself served as the headless browser.
    shell: known('chromium-headless-shell'),
    ffmpeg: revision('ffmpeg'),
  };
}

async function placeLinks(folder: string, paths: readonly string[], target: string): Promise<void> {
  for (const path of paths) {
    const link = join(folder, path);
    if ((await linkTarget(link)) === target) continue;
    await mkdir(dirname(link), { recursive: true });
    // Replaced atomically: a run may be using the link.
    const fresh = `${link}.${crypto.randomUUID()}`;
    await symlink(target, fresh);
    await rename(fresh, link).catch(async (error: unknown) => {
      await rm(fresh, { force: true });
      throw error;
    });
  }
  await writeFile(join(folder, 'INSTALLATION_COMPLETE'), '');
  await skipValidation(folder);
}

/**
 * Playwright runs `ldd` on the programs of a browser before it starts it, and then leaves this file so that it need not do so
 * again for 30 days. Scripts cannot write here, so each run of a script would do it; the agent itself starts the browser to
 * find out whether it works.
 */
async function skipValidation(folder: string): Promise<void> {
  const marker = join(folder, 'DEPENDENCIES_VALIDATED');
  await writeFile(marker, '');
  const date = new Date();
  date.setFullYear(date.getFullYear() + validatedYears);
  await utimes(marker, date, date);
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EINVAL') return undefined;
    throw thrown;
  }
}
