import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAgentSettings } from '../config.ts';
import type { ExaminedAgent } from './examination.ts';
import { defectsOf, sandbox, suites } from './scripts.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-doctor-suites-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function install(path: string, version: string): Promise<void> {
  const file = join(folder, path, 'package.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ version }));
}

function settingsOf(environment: Readonly<Record<string, string>> = {}) {
  return readAgentSettings({
    API_KEY: `pl_${'x'.repeat(32)}`,
    SERVICE_URL: 'https://picket.example.com',
    RUNTIMES_DIR: folder,
    ...environment,
  });
}

async function examined(environment: Readonly<Record<string, string>> = {}) {
  return await suites.examine({ settings: settingsOf(environment) } as ExaminedAgent);
}

it('names the versions that suites can use, or the reason why they have no choice', async () => {
  expect(await examined()).toMatchObject({
    status: 'skipped',
    detail: expect.stringContaining('no runtime'),
  });
  await install('2026.04/node_modules/playwright-core', '1.58.2');
  await mkdir(join(folder, '2026.04/node_modules/@playwright/test'), { recursive: true });
  await writeFile(join(folder, '2026.04/node_modules/@playwright/test/cli.js'), '');
  expect(await examined()).toMatchObject({
    status: 'skipped',
    detail: expect.stringContaining('no package managers'),
  });
  await install('package-managers/node_modules/npm', '11.19.1');
  await install('package-managers/node_modules/pnpm', '10.34.9');
  await install('package-managers/node_modules/pnpm8', '8.15.9');
  await install('package-managers/node_modules/yarn1', '1.22.22');
  await install('package-managers/node_modules/yarn3', '3.8.7');
  expect(await examined()).toMatchObject({
    status: 'ok',
    detail: `Node ${process.versions.node}; npm 11.19.1; pnpm 10.34.9, 8.15.9; yarn 1.22.22, 3.8.7`,
  });
  expect(await examined({ CHECK_TYPES: 'BROWSER' })).toMatchObject({ detail: 'CHECK_TYPES names no suites' });
});

it('warns of what makes scripts slower or less contained, and reports a missing part as a problem', () => {
  const partProblems = (['compiled-code', 'runtime', 'browser-trust'] as const).map((part) => ({
    part,
    text: `about ${part}`,
  }));
  const found = defectsOf({ problems: ['no seccomp'], partProblems });
  expect(found.map(({ status, detail }) => [status, detail])).toEqual([
    ['warning', 'no seccomp'],
    ['warning', 'about compiled-code'],
    ['problem', 'about runtime'],
    ['problem', 'about browser-trust'],
  ]);
});

it('gives the reason why the thread for scripts ended while it started', async () => {
  const runtimes = join(folder, 'damaged');
  await install('damaged/2026.04/node_modules/playwright-core', '1.58.2');
  await mkdir(join(runtimes, '2026.04/node_modules/@playwright/test'), { recursive: true });
  await writeFile(join(runtimes, '2026.04/node_modules/@playwright/test/cli.js'), '');
  await writeFile(join(runtimes, '2026.04/node_modules/playwright-core/browsers.json'), 'not JSON');
  await writeFile(join(runtimes, 'browser'), '', { mode: 0o755 });
  const resources = new AsyncDisposableStack();
  const patient = {
    settings: settingsOf({
      RUNTIMES_DIR: runtimes,
      CHROMIUM_PATH: join(runtimes, 'browser'),
      SCRIPTS_DIR: join(folder, 'scripts'),
    }),
    resources,
    signal: new AbortController().signal,
    caCertificates: [] as readonly string[],
  };
  const verdict = await sandbox.examine(patient as ExaminedAgent).finally(() => resources.disposeAsync());
  expect(verdict).toMatchObject({
    status: 'problem',
    detail: expect.stringMatching(/^the thread for scripts ended: SyntaxError at JSON.parse .*browser-links/),
  });
});
