import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { findOtherBrowsers } from '../../../src/sandbox/browsers/other-browsers.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { isNight } from '../../helpers/night.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { linkRuntime, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';

/** No real build can be had here: the archive has a program in its place, at the path of a build. */
async function firefoxArchive(): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from('#!/bin/sh\necho "Mozilla Firefox 146.0"\n'), 'firefox/firefox', {
    mode: 0o100755,
  });
  zip.end();
  return await buffer(zip.outputStream);
}

const runtimes = await readRuntimes(runtimesDirectory);
const [newest = ''] = runtimes.ids;
const modules = runtimes.find(newest)?.modulesDirectory;
const missing = modules === undefined ? 'no runtime is installed: npm run runtimes:install' : undefined;

describe('picket browsers', () => {
  let folder: string;
  let directory: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-browsers-'));
    directory = join(folder, 'browsers');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function picket(...args: readonly string[]) {
    const environment = { BROWSERS_DIR: directory, RUNTIMES_DIR: runtimesDirectory };
    const started = startPicket(['browsers', ...args], environment);
    const { code } = await started.ended;
    return { code, output: started.output() };
  }

  async function revision(): Promise<string> {
    const { browsers } = JSON.parse(
      await readFile(join(modules ?? '', 'playwright-core/browsers.json'), 'utf8'),
    );
    return browsers.find(({ name }: { readonly name: string }) => name === 'firefox').revision;
  }

  it('installs from a mirror, and from the folder of another machine', async ({ skip }) => {
    if (missing !== undefined) skip(missing);
    const archive = await firefoxArchive();
    const asked: string[] = [];
    const mirror = createServer((request, response) => {
      asked.push(request.url ?? '');
      if (request.url?.includes('/firefox/')) response.end(archive);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => mirror.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}/copies/`;
    try {
      const { code, output } = await picket('install', 'firefox', '--from', url, '--for', modules ?? '');
      expect(code, output).toBe(0);
    } finally {
      mirror.closeAllConnections();
      await new Promise((resolve) => mirror.close(resolve));
    }
    const version = await revision();
    expect(asked[0]).toMatch(new RegExp(`^/copies/builds/firefox/${version}/firefox-.*\\.zip$`));
    const path = join(directory, `firefox-${version}`);
    expect(await findOtherBrowsers(directory, [])).toEqual([{ name: 'firefox', version, path }]);
    const listed = await picket('list', '--json');
    expect(JSON.parse(listed.output)).toContainEqual({ name: 'firefox', version, path });

    const from = directory;
    directory = join(folder, 'of-another');
    const copied = await picket('install', 'firefox', '--from', from);
    expect(copied.code, copied.output).toBe(0);
    expect(await findOtherBrowsers(directory, [])).toMatchObject([{ name: 'firefox', version }]);
  });

  it('says what is wrong with a name or a source', async () => {
    const chrome = await picket('install', 'chrome');
    expect(chrome).toMatchObject({ code: 2, output: expect.stringContaining('google-chrome-stable') });
    const nowhere = await picket('install', 'firefox', '--from', join(folder, 'nowhere'));
    expect(nowhere).toMatchObject({ code: 2, output: expect.stringContaining('neither a folder nor a URL') });
    expect((await picket('list')).output).toContain('No browser besides Chromium');
  });

  if (isNight) {
    it('opens the build that its Playwright expects, for a suite that names it', async ({ skip }) => {
      const stage = await startSuiteStage();
      try {
        if (stage.missing !== undefined || modules === undefined) skip(stage.missing ?? missing);
        const [linked] = stage.scripts.runtimes.ids;
        const core = join(
          stage.scripts.runtimes.find(linked ?? '')?.modulesDirectory ?? '',
          'playwright-core',
        );
        const { browsers } = JSON.parse(await readFile(join(core, 'browsers.json'), 'utf8'));
        const version = browsers.find(({ name }: { readonly name: string }) => name === 'firefox').revision;
        const path = join(directory, `firefox-${version}`);
        await mkdir(join(path, 'firefox'), { recursive: true });
        await writeFile(join(path, 'firefox/firefox'), 'mine', { mode: 0o755 });
        const suite = {
          'a.spec.ts': `import { test, expect, firefox } from '@playwright/test';
            import { readFileSync } from 'node:fs';
            test('is there', () => { expect(readFileSync(firefox.executablePath(), 'utf8')).toBe('mine'); });`,
        };
        const spec = { ...linkRuntime(stage), browsers: ['firefox'] };
        const run = (builds: Awaited<ReturnType<typeof findOtherBrowsers>>) =>
          stage.run(suite, { spec, host: { ...stage.host, otherBrowsers: builds } });
        const found = await run([{ name: 'firefox', version, path }]);
        expect(found.outcome.failure, JSON.stringify(found.outcome.detail.errors)).toBeUndefined();
        expect((await run([])).outcome.failure).toMatchObject({ code: 'BROWSER_MISSING' });
        const other = { name: 'firefox', version: '1', path: join(directory, 'firefox-1') };
        const { detail } = (await run([other])).outcome;
        expect(detail.jobLog.map(({ msg }) => msg).join('\n')).toContain(
          `This agent has firefox 1; this version of Playwright opens firefox ${version}.`,
        );
      } finally {
        await stage.close();
      }
    });
  }
});
