import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/checks/contract/run-log.ts';
import { createRunLog } from '../../../src/checks/contract/run-log.ts';
import { PlaywrightDetail } from '../../../src/checks/playwright/detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import { type BundleEntry, packEntries, packZeros } from '../../helpers/scripts/suite-bundle.ts';
import {
  linkRuntime,
  type SuiteFiles,
  type SuiteRunOptions,
  type SuiteStage,
  startSuiteStage,
} from '../../helpers/scripts/suite-stage.ts';

const head = "import { test, expect } from '@playwright/test';\n";
const passing = `${head}test('adds', () => { expect(1 + 1).toBe(2); });`;
const config = (fields: string) =>
  `import { defineConfig } from '@playwright/test';\nexport default defineConfig({ ${fields} });`;

describe('Playwright suites', () => {
  let stage: SuiteStage;
  beforeAll(async () => {
    stage = await startSuiteStage();
  });
  afterAll(async () => {
    await stage.close();
  });

  /**
   * A test that runs suites: skipped, with the reason, if no runtime is installed; never skipped on a build machine.
   */
  function itRuns(name: string, run: () => Promise<void>): void {
    it(name, { timeout: 120_000 }, async (context) => {
      if (stage.missing && process.env.CI !== 'true') context.skip(stage.missing);
      expect(stage.missing).toBeUndefined();
      await run();
    });
  }
  const run = (files: SuiteFiles | Buffer, { spec, ...options }: SuiteRunOptions = {}) =>
    stage.run(files, { spec: { ...linkRuntime(stage), ...spec }, ...options });
  const outcomeOf = async (files: SuiteFiles | Buffer, options?: SuiteRunOptions) =>
    (await run(files, options)).outcome;

  itRuns('report the same counts as Playwright, and every attempt', async () => {
    const { outcome, artifacts } = await run({
      'playwright.config.ts': config(
        "retries: 1, testDir: './e2e', projects: [{ name: 'one' }, { name: 'two', grepInvert: /later/ }]",
      ),
      'e2e/sums.spec.ts': `${head}
        test.describe('sums', () => {
          test('right', () => { expect(1).toBe(1); });
          test('wrong', () => { expect(1).toBe(2); });
          test('later', ({}, info) => { expect(info.retry).toBe(1); });
          test.skip('never', () => {});
        });`,
    });
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
    const { detail } = outcome;
    expect(PlaywrightDetail.parse(detail)).toEqual(detail);
    expect(detail.stats).toEqual({ expected: 2, unexpected: 2, flaky: 1, skipped: 2 });
    expect(
      [...detail.errors]
        .sort((one, other) => (one.projectName ?? '').localeCompare(other.projectName ?? ''))
        .map(({ testTitle, testFile, projectName, suitePath }) => [
          testTitle,
          testFile,
          projectName,
          suitePath,
        ]),
    ).toEqual([
      ['wrong', 'sums.spec.ts', 'one', ['sums']],
      ['wrong', 'sums.spec.ts', 'two', ['sums']],
    ]);
    expect(detail.errors[0]?.error.message).toContain('Expected: 2');
    expect(
      detail.tests
        .filter(({ title }) => title === 'wrong')
        .map(({ retry }) => retry)
        .sort(),
    ).toEqual([0, 0, 1, 1]);
    // A trace of each attempt that ran, although the suite does not enable traces.
    const tries = ['right', 'wrong', 'wrong-retry-1'].flatMap((one) => [`one-${one}`, `two-${one}`]);
    for (const name of [...tries, 'one-later', 'one-later-retry-1']) {
      expect(detail.playwrightTestTraces).toContain(`traces/${name}.zip`);
    }
    expect(detail.playwrightTestJsonReportFile).toBe('report.json');
    expect(artifacts.map(({ name }) => name)).toContain('report.json');
    expect(detail.install).toMatchObject({ source: 'installed' });
    expect(detail.playwrightVersion).toMatch(/^\d+\.\d+/);
  });

  itRuns(
    'pass with options of the command, a folder of their own and the variables of the check',
    async () => {
      const outcome = await outcomeOf(
        {
          'web/tests/a.config.ts': config("testDir: '.', projects: [{ name: 'one' }, { name: 'two' }]"),
          'web/tests/a.spec.ts': `${head}
          test('reads @smoke', () => { expect([process.env.NAME, process.env.CI, process.env.SERVICE]).toEqual(['Ada', undefined, '1']); });
          test('other', () => { expect(1).toBe(2); });`,
        },
        {
          spec: {
            workingDir: 'web/',
            testCommand:
              "npx playwright test --config 'tests/a.config.ts' --project 'two' --grep '@smoke|@none'",
          },
          context: { variables: { NAME: 'Ada', SERVICE: '1' } },
        },
      );
      expect(outcome.failure).toBeUndefined();
      expect(outcome.detail.stats).toEqual({ expected: 1, unexpected: 0, flaky: 0, skipped: 0 });
    },
  );

  const configFiles: Readonly<Record<string, SuiteFiles>> = {
    'a CommonJS configuration': { 'playwright.config.cjs': "module.exports = { testDir: './e2e' };" },
    'a JavaScript configuration that requires': {
      'playwright.config.js': "module.exports = { testDir: './e2e' };",
    },
    'an ES module': { 'playwright.config.mjs': "export default { testDir: './e2e' };" },
    'TypeScript in a package of modules': {
      'package.json': '{ "type": "module" }',
      'playwright.config.ts': config("testDir: './e2e'"),
    },
    'no configuration': {},
  };
  for (const [name, files] of sampleOf(Object.entries(configFiles), 1)) {
    itRuns(`run with ${name}, traced, with the defaults of a suite`, async () => {
      const outcome = await outcomeOf({
        ...files,
        'e2e/a.spec.ts': `${head}test('a', ({}, info) => { expect([info.config.workers, info.project.retries, info.project.use.trace]).toEqual([4, 2, 'on']); });`,
      });
      expect(outcome.failure).toBeUndefined();
      expect(outcome.detail.playwrightTestTraces).toHaveLength(1);
    });
  }

  itRuns('report all secrets: values of SERVICE_SECRET_ variables are declared', async () => {
    const outcome = await outcomeOf({
      'a.spec.ts': `${head}test('a', () => { process.env.SERVICE_SECRET_TOKEN = 'hunter2hunter2'; });`,
    });
    expect(outcome.secrets).toEqual(['hunter2hunter2']);
  });

  itRuns('open the browser of this host with their own Playwright', async () => {
    const { missingBrowser } = stage.scripts;
    if (missingBrowser && process.env.CI !== 'true') return;
    const outcome = await outcomeOf(
      {
        'a.spec.ts': `${head}test('a', async ({ page }) => { await page.setContent('<h1>Hi</h1>'); await expect(page.locator('h1')).toHaveText('Hi'); });`,
      },
      { spec: { browsers: ['chromium'] } },
    );
    expect(outcome.failure).toBeUndefined();
  });

  describe('fail as the fault of the suite', () => {
    const start =
      'export default async () => { await new Promise((resolve) => setTimeout(resolve, 600_000)); };';
    const faults: Readonly<
      Record<string, { files: SuiteFiles; code: string; says: RegExp; options?: SuiteRunOptions }>
    > = {
      'when globalSetup hangs': {
        files: {
          'playwright.config.ts': config("globalSetup: './setup.ts', globalTimeout: 3000"),
          'setup.ts': start,
          'a.spec.ts': passing,
        },
        code: 'SCRIPT_TIMED_OUT',
        says: /global timeout.*3s/i,
      },
      'when a web server never gets ready': {
        files: {
          'playwright.config.ts': config("webServer: { command: 'sleep 600', port: 1, timeout: 1500 }"),
          'a.spec.ts': passing,
        },
        code: 'SCRIPT_INVALID',
        says: /Timed out waiting 1500ms from config.webServer/,
      },
      'when test.only is forbidden': {
        files: {
          'playwright.config.ts': config('forbidOnly: true'),
          'a.spec.ts': `${head}test.only('a', () => {});`,
        },
        code: 'SCRIPT_INVALID',
        says: /focused with .*only|forbid/i,
      },
      'when a file is not TypeScript': {
        files: { 'a.spec.ts': `${head}const ;` },
        code: 'SCRIPT_INVALID',
        says: /SyntaxError/,
      },
      'when the configuration throws': {
        files: { 'playwright.config.ts': "throw new Error('no config for you');", 'a.spec.ts': passing },
        code: 'SCRIPT_INVALID',
        says: /no config for you/,
      },
      'when a package is missing': {
        files: { 'a.spec.ts': `import 'not-installed-here';\n${passing}` },
        code: 'SCRIPT_INVALID',
        says: /Cannot find (module|package) 'not-installed-here'/,
      },
      'when no test is found': {
        files: { 'readme.txt': 'none' },
        code: 'SCRIPT_INVALID',
        says: /No tests found/,
      },
      'when the global timeout is over': {
        files: {
          'playwright.config.ts': config('globalTimeout: 3000, retries: 0'),
          'a.spec.ts': `${head}test('a', async () => { await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
        },
        code: 'SCRIPT_TIMED_OUT',
        says: /global timeout/i,
      },
      'when the command is none': {
        files: { 'a.spec.ts': passing },
        code: 'SCRIPT_INVALID',
        says: /ran no Playwright test.*exit code 127.*nonsense/s,
        options: { spec: { testCommand: 'nonsense --now' } },
      },
      'when nothing says what to install': {
        files: { 'a.spec.ts': passing },
        code: 'BUNDLE_INVALID',
        says: /no lockfile/,
        options: { spec: { installCommand: '' } },
      },
      'when the install command fails': {
        files: { 'a.spec.ts': passing },
        code: 'INSTALL_FAILED',
        says: /exit code 3.*nothing to be had/s,
        options: { spec: { installCommand: 'echo nothing to be had; exit 3' } },
      },
      'when the working directory is not there': {
        files: { 'a.spec.ts': passing },
        code: 'BUNDLE_INVALID',
        says: /no folder "elsewhere"/,
        options: { spec: { workingDir: 'elsewhere' } },
      },
    };
    for (const [name, { files, code, says, options }] of sampleOf(Object.entries(faults), 3)) {
      itRuns(name, async () => {
        const outcome = await outcomeOf(files, options);
        expect(outcome.failure?.message).toMatch(says);
        expect(outcome.failure?.code).toBe(code);
        expect(['target', 'config']).toContain(outcome.failure?.owner);
        expect(outcome.errorMessages).not.toEqual([]);
        expect(outcome.detail.errors).not.toEqual([]);
      });
    }
  });

  itRuns('are killed completely if they do not end by themselves', async () => {
    const outcome = await outcomeOf(
      { 'playwright.config.ts': 'for (;;);', 'a.spec.ts': passing },
      { context: { timeoutMs: 4000 } },
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_TIMED_OUT', owner: 'target' });
  });

  itRuns('end when the run is cancelled', async () => {
    const controller = new AbortController();
    const log = createRunLog();
    const watched = {
      ...log,
      write: (level: LogEntry['level'], msg: string) => {
        log.write(level, msg);
        if (msg.includes('test is on')) controller.abort(new Error('cancelled'));
      },
    };
    const outcome = await outcomeOf(
      {
        'a.spec.ts': `${head}test('a', async () => { console.log('test is on'); await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
      },
      { context: { signal: controller.signal, log: watched } },
    );
    expect(outcome.failure).toMatchObject({ code: 'RUN_ABORTED', owner: 'agent' });
  });

  itRuns('report missing browsers before anything runs', async () => {
    const outcome = await outcomeOf({ 'a.spec.ts': passing }, { spec: { browsers: ['chromium', 'webkit'] } });
    expect(outcome.failure).toMatchObject({ code: 'BROWSER_MISSING', owner: 'agent' });
  });

  describe('refuse archives', () => {
    const archives: Readonly<Record<string, { entries: readonly BundleEntry[]; says: RegExp }>> = {
      'with a path upwards': { entries: [{ name: '../evil', content: 'x' }], says: /leads out/ },
      'with an absolute path': { entries: [{ name: '/tmp/evil', content: 'x' }], says: /leads out/ },
      'with a link out': { entries: [{ name: 'l', type: 'symlink', linkname: '../..' }], says: /leads out/ },
      'with a link out to what is not there yet': {
        entries: [{ name: 'l', type: 'symlink', linkname: '../nothing' }],
        says: /leads out/,
      },
      'with an absolute link': {
        entries: [{ name: 'l', type: 'symlink', linkname: '/etc' }],
        says: /leads out/,
      },
      'with links that only together lead out': {
        entries: [
          { name: 'a/b/up', type: 'symlink', linkname: '../..' },
          { name: 'a/b/out', type: 'symlink', linkname: 'up/../..' },
        ],
        says: /leads out/,
      },
      'with a link and a file behind it': {
        entries: [
          { name: 'd', type: 'symlink', linkname: 'elsewhere' },
          { name: 'd/file', content: 'x' },
        ],
        says: /exist|behind/i,
      },
      'with a hard link': {
        entries: [{ name: 'h', type: 'link', linkname: '/etc/passwd' }],
        says: /only files/,
      },
      'with a device': {
        entries: [{ name: 'dev', type: 'character-device', devmajor: 1, devminor: 3 }],
        says: /only files/,
      },
      'with a pipe': { entries: [{ name: 'p', type: 'fifo' }], says: /only files/ },
      'with too many entries': {
        entries: Array.from({ length: 20_001 }, () => ({ name: 'd', type: 'directory' as const })),
        says: /more than 20000 entries/,
      },
    };
    for (const [name, { entries, says }] of Object.entries(archives)) {
      itRuns(name, async () => {
        const outcome = await outcomeOf(await packEntries(entries));
        expect(outcome.failure).toMatchObject({ code: 'BUNDLE_INVALID', owner: 'config' });
        expect(outcome.failure?.message).toMatch(says);
      });
    }

    itRuns('that are bombs', async () => {
      const outcome = await outcomeOf(await packZeros(38));
      expect(outcome.failure).toMatchObject({ code: 'BUNDLE_INVALID' });
      expect(outcome.failure?.message).toMatch(/unpacks to more than/);
    });

    itRuns('that are invalid, or cut off', async () => {
      const whole = await packEntries([{ name: 'a', content: 'x'.repeat(5000) }]);
      for (const bytes of [
        Buffer.from('not an archive'),
        whole.subarray(0, whole.length - 20),
        gzipSync('no tar'),
      ]) {
        expect((await outcomeOf(bytes)).failure).toMatchObject({ code: 'BUNDLE_INVALID' });
      }
    });

    itRuns('unknown to the service', async () => {
      const outcome = await outcomeOf({}, { spec: { codeBundlePath: `${'0'.repeat(64)}-1` } });
      expect(outcome.failure).toMatchObject({ code: 'BUNDLE_INVALID', owner: 'config' });
    });
  });

  for (const [name, files, testCommand] of [
    [
      'the configuration',
      { 'playwright.config.ts': config("reporter: [['html', { open: 'always' }]], retries: 0") },
      undefined,
    ],
    ['the command', { 'playwright.config.ts': config('retries: 0') }, 'npx playwright test --reporter=html'],
  ] as const) {
    itRuns(`end if they fail and ${name} requests an HTML report`, async () => {
      const older = stage.scripts.runtimes.find('2025.04');
      const outcome = await outcomeOf(
        { ...files, 'a.spec.ts': `${head}test('a', () => { expect(1).toBe(2); });` },
        {
          spec: {
            ...(testCommand === undefined ? {} : { testCommand }),
            // Playwright up to 1.55 would serve the report even without a terminal.
            ...(older ? { installCommand: `ln -s '${older.modulesDirectory}' node_modules` } : {}),
          },
          context: { timeoutMs: 60_000, variables: { PLAYWRIGHT_HTML_OPEN: 'always' } },
        },
      );
      expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
    });
  }

  itRuns('accept inner links, execute bits only, and the last of two files with the same name', async () => {
    const outcome = await outcomeOf(
      await packEntries([
        { name: './bin/say', content: '#!/bin/sh\necho old', mode: 0o644 },
        { name: './bin/say', content: '#!/bin/sh\necho said', mode: 0o6755 },
        { name: 'link', type: 'symlink', linkname: 'bin/say' },
        {
          name: 'a.spec.ts',
          content: `${head}import { execFileSync } from 'node:child_process'; import { statSync } from 'node:fs';
            test('a', () => { expect(String(execFileSync('./link'))).toBe('said\\n'); expect(statSync('bin/say').mode & 0o7000).toBe(0); });`,
        },
      ]),
    );
    expect(outcome.failure).toBeUndefined();
  });
});
