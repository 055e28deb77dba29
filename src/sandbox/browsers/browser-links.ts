import { mkdir, readdir, readFile, readlink, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Runtime } from '../runtimes/runtimes.ts';
import { writeLoginStarter } from './browser-login.ts';
import type { FoundBrowser } from './find-browser.ts';
import type { OtherBrowser } from './other-browsers.ts';

/**
 * A folder in which every version of Playwright finds its browser at the path of its own download, so that scripts and
 * suites need no setting: `PLAYWRIGHT_BROWSERS_PATH`. All paths link to the one browser of this host.
 */
export interface BrowserLinks {
  readonly directory: string;
  readonly executablePath: string;
  /** The program that starts it, which all links point to: the browser itself, or that of browser-login.ts. */
  readonly startPath: string;
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
  /** Servers at which the browser logs in; see browser-login.ts. */
  readonly loginServers?: readonly string[] | undefined;
  readonly ffmpegPath?: string | undefined;
  readonly runtimes: readonly Pick<Runtime, 'modulesDirectory'>[];
}): Promise<BrowserLinks> {
  const { directory, browser, ffmpegPath, loginServers: servers = [] } = options;
  const { executablePath } = browser;
  const startPath =
    servers.length === 0 ? executablePath : await writeLoginStarter({ directory, executablePath, servers });
  for (const { modulesDirectory } of options.runtimes) {
    const revisions = await browserRevisions(modulesDirectory);
    if (revisions.shell !== undefined) {
      await placeLinks(join(directory, `chromium_headless_shell-${revisions.shell}`), shellPaths, startPath);
    }
    await placeLinks(join(directory, `chromium-${revisions.chromium}`), browserPaths, startPath);
    if (ffmpegPath !== undefined) {
      await placeLinks(join(directory, `ffmpeg-${revisions.ffmpeg}`), ffmpegPaths, ffmpegPath);
    }
  }
  return { directory, executablePath, startPath, ffmpegPath };
}

/** Playwright's folders of Chromium, which scripts that do not open it do without. */
const chromiumFolder = /^chromium(?:_headless_shell)?-/;

/**
 * The links of a script that opens some browsers: targets by their name in its folder of browsers.
 *
 * @param isWithChromium whether it opens the browser of this host, too.
 * @param others builds of other browsers; those that Playwright finds by itself need no link.
 */
export async function linksFor(
  { directory }: BrowserLinks,
  isWithChromium: boolean,
  others: readonly OtherBrowser[],
): Promise<ReadonlyMap<string, string>> {
  const shared = (await readdir(directory)).filter((name) => isWithChromium || !chromiumFolder.test(name));
  return new Map([
    ...shared.map((name) => [name, join(directory, name)] as const),
    ...others.filter(isBuild).map(({ path }) => [basename(path), path] as const),
  ]);
}

/** Whether a browser is a build of Playwright, which serves one version of it. */
export function isBuild({ name }: Pick<OtherBrowser, 'name'>): boolean {
  return name === 'firefox' || name === 'webkit';
}

/** The build of a browser that the Playwright of a runtime opens; undefined if it knows no such browser. */
export async function buildFor(
  { modulesDirectory }: Pick<Runtime, 'modulesDirectory'>,
  name: string,
): Promise<string | undefined> {
  return (await browsersOfPlaywright(modulesDirectory)).find((entry) => entry.name === name)?.revision;
}

async function browserRevisions(modulesDirectory: string) {
  const browsers = await browsersOfPlaywright(modulesDirectory);
  const known = (name: string) => browsers.find((entry) => entry.name === name)?.revision;
  const revision = (name: string) => {
    const found = known(name);
    if (found === undefined) throw new Error(`the Playwright of ${modulesDirectory} names no ${name}`);
    return found;
  };
  return {
    chromium: revision('chromium'),
    // Before 1.49 Chromium itself served as the headless browser.
    shell: known('chromium-headless-shell'),
    ffmpeg: revision('ffmpeg'),
  };
}

async function browsersOfPlaywright(modulesDirectory: string) {
  const file = join(modulesDirectory, 'playwright-core/browsers.json');
  const { browsers } = JSON.parse(await readFile(file, 'utf8')) as {
    browsers: readonly { readonly name: string; readonly revision: string }[];
  };
  return browsers;
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
