import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linkBrowsers } from '../../../src/sandbox/browsers/browser-links.ts';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'picket-browsers-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function program(name: string): Promise<string> {
  await writeFile(join(directory, name), '#!/bin/sh\n');
  await chmod(join(directory, name), 0o755);
  return join(directory, name);
}

describe('the browser of a host', () => {
  it('is the configured one, then the system’s in order, then the unpacked one', async () => {
    const [set, first, second, unpacked] = await Promise.all(
      ['set', 'first', 'second', 'unpacked'].map(program),
    );
    const systemPaths = [join(directory, 'missing'), first ?? '', second ?? ''];
    expect(await findBrowser({ chromiumPath: set, systemPaths })).toEqual({
      executablePath: set,
      source: 'setting',
    });
    expect(await findBrowser({ unpackedPath: unpacked, systemPaths })).toMatchObject({
      executablePath: first,
    });
    expect(await findBrowser({ unpackedPath: unpacked, systemPaths: [] })).toEqual({
      executablePath: unpacked,
      source: 'package',
    });
  });

  it('is never another one than the configured one', async () => {
    const systemPaths = [await program('system')];
    const chromiumPath = join(directory, 'nothing');
    await expect(findBrowser({ chromiumPath, systemPaths })).rejects.toThrow(
      `CHROMIUM_PATH names ${chromiumPath}`,
    );
    await writeFile(chromiumPath, 'not a program');
    await expect(findBrowser({ chromiumPath, systemPaths })).rejects.toThrow('not an executable program');
  });

  it('is missing with the places and the remedy', async () => {
    await expect(findBrowser({ systemPaths: ['/nowhere/chromium'] })).rejects.toThrow(
      /\/nowhere\/chromium.*chromium-headless-shell/s,
    );
  });
});

describe('the links to browsers', () => {
  async function runtime(
    name: string,
    revision: string,
    names = ['chromium', 'chromium-headless-shell', 'ffmpeg'],
  ) {
    const modulesDirectory = join(directory, name);
    await mkdir(join(modulesDirectory, 'playwright-core'), { recursive: true });
    const browsers = names.map((browser) => ({
      name: browser,
      revision,
    }));
    await writeFile(join(modulesDirectory, 'playwright-core/browsers.json'), JSON.stringify({ browsers }));
    return { modulesDirectory };
  }

  it('lead every version of Playwright to the one browser', async () => {
    const executablePath = await program('shell');
    const runtimes = [await runtime('old', '1161'), await runtime('new', '1208')];
    const links = join(directory, 'links');
    const options = { directory: links, browser: { executablePath, source: 'system' as const }, runtimes };
    expect(await linkBrowsers(options)).toEqual({
      directory: links,
      executablePath,
      startPath: executablePath,
      ffmpegPath: undefined,
    });
    for (const path of [
      'chromium_headless_shell-1161/chrome-linux/headless_shell',
      'chromium_headless_shell-1208/chrome-headless-shell-linux64/chrome-headless-shell',
      'chromium-1161/chrome-linux/chrome',
      'chromium-1208/chrome-linux64/chrome',
    ]) {
      expect(await readlink(join(links, path)), path).toBe(executablePath);
    }
    expect((await stat(join(links, 'chromium-1208/INSTALLATION_COMPLETE'))).size).toBe(0);
    // Playwright compares its age with 30 days; an agent may run for years.
    const validated = await stat(join(links, 'chromium_headless_shell-1208/DEPENDENCIES_VALIDATED'));
    expect(validated.mtimeMs - Date.now()).toBeGreaterThan(365 * 86_400_000);
    await expect(stat(join(links, 'ffmpeg-1208'))).rejects.toThrow('ENOENT');
  });

  it('start a browser that logs in, where the home of the run has tickets', async () => {
    const executablePath = join(directory, "the browser's");
    const text = '#!/bin/sh\necho "$KRB5CCNAME,$KRB5_CONFIG,$*"\n';
    await writeFile(executablePath, text, { mode: 0o755 });
    const links = await linkBrowsers({
      directory: join(directory, 'links'),
      browser: { executablePath, source: 'system' },
      runtimes: [await runtime('one', '1208')],
      loginServers: ['a.test', 'b.test'],
    });
    expect(links.executablePath).toBe(executablePath);
    const path = join(links.directory, 'chromium-1208/chrome-linux64/chrome');
    const start = async (home: string) =>
      (await promisify(execFile)(path, ['--a b', 'c'], { env: { HOME: home } })).stdout.trim();
    expect(await start(directory)).toBe(',,--a b c');
    await mkdir(join(directory, '.kerberos'));
    await writeFile(join(directory, '.kerberos/tickets'), '');
    expect(await start(directory)).toBe(
      `FILE:${directory}/.kerberos/tickets,${directory}/.kerberos/krb5.conf,--auth-server-allowlist=a.test,b.test --a b c`,
    );
  });

  it('omit a headless shell for a Playwright that knows none', async () => {
    const executablePath = await program('chromium');
    const runtimes = [await runtime('older', '1140', ['chromium', 'ffmpeg'])];
    const links = join(directory, 'links');
    await linkBrowsers({ directory: links, browser: { executablePath, source: 'system' }, runtimes });
    expect(await readdir(links)).toEqual(['chromium-1140']);
    expect(await readlink(join(links, 'chromium-1140/chrome-linux/chrome'))).toBe(executablePath);
  });

  it('are repaired when the browser has moved, and include ffmpeg if available', async () => {
    const runtimes = [await runtime('new', '1208')];
    const links = join(directory, 'links');
    const link = join(links, 'chromium-1208/chrome-linux64/chrome');
    await mkdir(join(links, 'chromium-1208/chrome-linux64'), { recursive: true });
    await symlink('/gone', link);
    const browser = { executablePath: await program('shell'), source: 'system' as const };
    const ffmpegPath = await program('ffmpeg');
    expect(await linkBrowsers({ directory: links, browser, runtimes, ffmpegPath })).toMatchObject({
      ffmpegPath,
    });
    expect(await readlink(link)).toBe(browser.executablePath);
    expect(await readlink(join(links, 'ffmpeg-1208/ffmpeg-linux'))).toBe(ffmpegPath);
  });
});
