import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import { findOtherBrowsers, type OtherBrowser } from '@picket/sandbox/browsers/other-browsers.ts';
import { readRuntimes } from '@picket/sandbox/runtimes/runtimes.ts';
import { serveFolder } from './folder-mirror.ts';
import { type BrowserFolders, browserFolders } from './settings.ts';

export interface InstallOptions {
  /** A folder, or the URL of a mirror; Playwright's own servers if absent. */
  readonly from?: string;
  /** The folder of a project whose Playwright decides the builds; the runtimes of this agent if absent. */
  readonly for?: string;
  /** Also installs the libraries that the browsers need, with apt. */
  readonly withDeps?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Browsers that Playwright builds. */
const builtBrowsers = ['firefox', 'webkit'];
const makers = dictionary<string>({
  chrome: 'Google Chrome (google-chrome-stable, at /opt/google/chrome/chrome)',
  msedge: 'Microsoft Edge (microsoft-edge-stable, at /opt/microsoft/msedge/msedge)',
});

/**
 * `picket browsers install`: puts builds of Firefox and WebKit into the agent's folder of browsers. A running agent
 * offers them within a minute.
 *
 * @returns the exit code: 0 if all of them are there, 1 if not, 2 if the arguments are wrong.
 */
export async function installBrowsersCommand(
  names: readonly string[],
  options: InstallOptions,
  environment: Environment,
): Promise<number> {
  const wrong = names.find((name) => !builtBrowsers.includes(name));
  if (wrong !== undefined) {
    const maker = makers[wrong];
    console.error(
      maker === undefined
        ? `picket: there is no browser ${wrong}: name ${builtBrowsers.join(' or ')}`
        : `picket: ${wrong} comes with the package of its maker: install ${maker}`,
    );
    return 2;
  }
  const folders = browserFolders(environment);
  const source = await sourceOf(options.from);
  if (source === undefined) {
    console.error(`picket: --from ${options.from} is neither a folder nor a URL`);
    return 2;
  }
  await mkdir(folders.browsers, { recursive: true, mode: 0o755 });
  const installed =
    source.kind === 'folder' ? await copyInstalled(source.path, names, folders.browsers) : false;
  if (!installed) {
    const playwrights = await playwrightsOf(options.for, folders);
    if (playwrights.length === 0) {
      console.error(
        options.for === undefined
          ? `picket: no runtime is installed in ${folders.runtimes}: npm run runtimes:install, or name a project with --for`
          : `picket: there is no playwright-core in ${options.for}: install the packages of the project first`,
      );
      return 2;
    }
    const mirror = source.kind === 'folder' ? await serveFolder(source.path) : undefined;
    try {
      for (const playwright of playwrights) {
        const code = await download(playwright, {
          names,
          isWithDeps: options.withDeps === true,
          host: mirror?.url ?? (source.kind === 'url' ? source.url : undefined),
          isLocal: mirror !== undefined,
          directory: folders.browsers,
          environment,
        });
        if (code !== 0) return 1;
      }
    } finally {
      await mirror?.close();
    }
  }
  const found = await findOtherBrowsers(folders.browsers);
  for (const one of found) console.log(browserLine(one));
  return names.every((name) => found.some((one) => one.name === name)) ? 0 : 1;
}

/** `picket browsers list`: the browsers besides Chromium that can be opened here. */
export async function listBrowsersCommand(
  options: { readonly json?: boolean },
  environment: Environment,
): Promise<void> {
  const found = await findOtherBrowsers(browserFolders(environment).browsers);
  if (options.json) console.log(JSON.stringify(found, null, 2));
  else if (found.length === 0)
    console.log('No browser besides Chromium is installed: picket browsers install firefox webkit');
  else for (const one of found) console.log(browserLine(one));
}

function browserLine({ name, version, path }: OtherBrowser): string {
  return `${name} ${version}  ${path}`;
}

type Source =
  | { readonly kind: 'usual' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'folder'; readonly path: string };

async function sourceOf(from: string | undefined): Promise<Source | undefined> {
  if (from === undefined) return { kind: 'usual' };
  if (/^https?:\/\//i.test(from))
    return URL.canParse(from) ? { kind: 'url', url: from.replace(/\/+$/, '') } : undefined;
  const path = resolve(from);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? { kind: 'folder', path } : undefined;
}

/**
 * Copies builds from the folder of browsers of another machine.
 *
 * @returns false if the folder has none of one of the names; nothing is copied then.
 */
async function copyInstalled(from: string, names: readonly string[], to: string): Promise<boolean> {
  const there = (await findOtherBrowsers(from, [])).filter(({ name }) => names.includes(name));
  if (!names.every((name) => there.some((one) => one.name === name))) return false;
  for (const { path } of there) {
    const place = join(to, basename(path));
    const fresh = join(to, `.new-${process.pid}-${basename(path)}`);
    await rm(fresh, { recursive: true, force: true });
    await cp(path, fresh, { recursive: true, verbatimSymlinks: true });
    await rm(place, { recursive: true, force: true });
    await rename(fresh, place);
  }
  return true;
}

/** Folders of playwright-core. */
async function playwrightsOf(
  project: string | undefined,
  folders: BrowserFolders,
): Promise<readonly string[]> {
  if (project !== undefined) return coreOf(resolve(project));
  const runtimes = await readRuntimes(folders.runtimes).catch((thrown: unknown) => {
    if (errorCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  });
  return (runtimes?.ids ?? []).flatMap((id) => coreOf(runtimes?.find(id)?.modulesDirectory ?? ''));
}

function coreOf(folder: string): string[] {
  // A project of pnpm has no playwright-core at its top.
  for (const way of [[], ['playwright'], ['@playwright/test', 'playwright']]) {
    try {
      const place = way.reduce(
        (from, name) => createRequire(from).resolve(`${name}/package.json`),
        join(folder, 'package.json'),
      );
      return [dirname(createRequire(place).resolve('playwright-core/package.json'))];
    } catch (thrown) {
      if (errorCodeOf(thrown) !== 'MODULE_NOT_FOUND') throw thrown;
    }
  }
  return [];
}

/** Has Playwright itself install its browsers: it knows the archives of each system, and unpacks them. */
async function download(
  playwright: string,
  order: {
    readonly names: readonly string[];
    readonly isWithDeps: boolean;
    readonly host: string | undefined;
    readonly isLocal: boolean;
    readonly directory: string;
    readonly environment: Environment;
  },
): Promise<number> {
  await leaveOutFfmpeg(playwright, order.directory);
  const inherited = Object.entries(order.environment).filter(
    // A proxy does not reach this machine's own loopback.
    ([name]) => !(order.isLocal && /^(?:https?|all)_proxy$/i.test(name)),
  );
  const args = ['install', ...(order.isWithDeps ? ['--with-deps'] : []), ...order.names];
  const child = spawn(process.execPath, [join(playwright, 'cli.js'), ...args], {
    stdio: 'inherit',
    env: {
      ...Object.fromEntries(inherited),
      PLAYWRIGHT_BROWSERS_PATH: order.directory,
      // Playwright would remove the builds of its other versions.
      PLAYWRIGHT_SKIP_BROWSER_GC: '1',
      ...(order.host !== undefined && { PLAYWRIGHT_DOWNLOAD_HOST: order.host }),
    },
  });
  return await new Promise<number>((settle, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => settle(code ?? 1));
  });
}

/** Playwright would download its own ffmpeg with each browser, which runs never use: it counts as installed. */
async function leaveOutFfmpeg(playwright: string, directory: string): Promise<void> {
  const { browsers } = JSON.parse(await readFile(join(playwright, 'browsers.json'), 'utf8')) as {
    readonly browsers: readonly { readonly name: string; readonly revision: string }[];
  };
  const revision = browsers.find(({ name }) => name === 'ffmpeg')?.revision;
  if (revision === undefined) return;
  await mkdir(join(directory, `ffmpeg-${revision}`), { recursive: true, mode: 0o755 });
  await writeFile(join(directory, `ffmpeg-${revision}`, 'INSTALLATION_COMPLETE'), '');
}
