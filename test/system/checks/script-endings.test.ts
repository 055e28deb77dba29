import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runScript, type ScriptReport, scriptFiles } from '../../../src/sandbox/scripts/script-run.ts';
import { launchScript } from '../../../src/sandbox/scripts/waiting-script.ts';
import { createPlainSandbox } from '../../helpers/scripts/plain-sandbox.ts';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const { leavesNothingOpen } = createRequire(import.meta.url)(
  '../../../src/sandbox/program/script-source.cjs',
) as {
  leavesNothingOpen(sources: readonly string[]): boolean;
};
const rehearsal = join(import.meta.dirname, '../../../src/sandbox/program/rehearsal.cjs');
const head = "import { test, expect } from '@playwright/test';\n";

describe('how runs of tests end', () => {
  let stage: ScriptStage;
  let target: HttpTarget;
  beforeAll(async () => {
    stage = await startScriptStage();
    target = await startHttpTarget();
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
  });

  const itRuns = scriptTests(() => stage);

  /** Runs a script in a process that has loaded everything before it knew the script, or in a fresh one. */
  async function runIn(
    kind: 'ahead' | 'fresh',
    script: string,
    options: { readonly runtimeId?: string | undefined } = {},
  ): Promise<ScriptReport & { readonly output: string[]; readonly isTidied: boolean }> {
    const runtime = stage.runtimes.find(options.runtimeId ?? stage.runtimes.ids[0] ?? '');
    if (!runtime) throw new Error('there is no such runtime');
    const sandbox = await createPlainSandbox();
    const loaded = Promise.withResolvers<void>();
    const output: string[] = [];
    try {
      const waiting = await launchScript(
        sandbox,
        { runtime, browser: undefined },
        { nodePath: process.execPath, isAhead: kind === 'ahead', onLoaded: loaded.resolve },
      );
      if (kind === 'ahead') await loaded.promise;
      const report = await runScript(waiting, {
        entry: 'script.ts',
        files: scriptFiles({ script, entry: 'script.ts', dependencies: [], snippets: [] }),
        variables: { TARGET: target.url },
        proxyUrl: null,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        onOutput: (_stream, line) => output.push(line),
      });
      // The last thing that Playwright writes by itself.
      const isTidied = existsSync(join(sandbox.directory, '.picket/output/.last-run.json'));
      return { ...report, output, isTidied };
    } finally {
      await sandbox.release();
    }
  }

  itRuns('what a worker has to say when it is torn down is waited for', async () => {
    const { outcome } = await stage.runMultiStep(
      `import { test as base } from '@playwright/test';
      const test = base.extend({ shop: [async ({}, use) => { await use('x'); throw new Error('teardown broke'); }, { scope: 'worker' }] });
      test('one', async ({ shop }) => { console.log(shop); });`,
    );
    expect(outcome.failure?.code).toBe('SCRIPT_FAILED');
    expect(outcome.errorMessages.join()).toContain('teardown broke');
  });

  itRuns('what happens at the end of the process is waited for', async () => {
    const { outcome, artifacts } = await stage.runMultiStep(
      `${head} import { writeFileSync } from 'node:fs';
      process.on('exit', () => { if (process.env.TEST_WORKER_INDEX) writeFileSync('late.png', 'x'); });
      test('one', async () => {});`,
    );
    expect(outcome.failure).toBeUndefined();
    expect(artifacts.map(({ name }) => name)).toContain('screenshots/late.png');
  });

  itRuns('hooks and fixtures of the last test are over, and what they print is told', async () => {
    for (const kind of ['ahead', 'fresh'] as const) {
      const report = await runIn(
        kind,
        `import { test as base } from '@playwright/test';
        const test = base.extend({ shop: async ({}, use) => { await use('x'); console.log('fixture over'); } });
        test.afterAll(async () => { console.log('hook over'); });
        test('one', async ({ shop }) => { console.log('test ' + shop); });`,
      );
      expect(report.end?.status).toBe('passed');
      expect(report.output).toEqual(['test x', 'fixture over', 'hook over']);
      expect(report.ended).toMatchObject({ reason: 'exited', exitCode: 0 });
      expect(report.errors).toEqual([]);
      expect(report.isTidied).toBe(false);
    }
  });

  itRuns('a run with something that may outlive its tests goes on until Playwright is through', async () => {
    const report = await runIn('fresh', `${head} process.on('exit', () => {}); test('one', async () => {});`);
    expect(report.end?.status).toBe('passed');
    expect(report.isTidied).toBe(true);
  });

  itRuns('a sample is run with every version of Playwright that is installed', async () => {
    for (const id of stage.runtimes.ids) {
      const { modulesDirectory } = stage.runtimes.find(id) ?? {};
      const sandbox = await createPlainSandbox();
      try {
        await sandbox.link('node_modules', modulesDirectory ?? '');
        const program = `const { rehearseRunner, rehearseWorker } = require(${JSON.stringify(rehearsal)});
          const modules = ${JSON.stringify(modulesDirectory)};
          rehearseRunner(modules).then(async (runner) => {
            console.log(JSON.stringify([runner, await rehearseWorker(modules)]));
            process.exit();
          });`;
        const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
          cwd: sandbox.directory,
          env: {
            PATH: process.env.PATH,
            PICKET_MODULES: modulesDirectory,
            PWTEST_CACHE_DIR: join(sandbox.directory, '.picket/cache'),
          },
        });
        expect([id, JSON.parse(stdout)]).toEqual([id, [true, true]]);
      } finally {
        await sandbox.release();
      }
    }
  });

  itRuns('a process that was made ready ahead leaves no trace of that in the run', async () => {
    const script = `${head}
      test('look', async ({ request }, testInfo) => {
        expect((await request.get(process.env.TARGET)).status()).toBe(200);
        const count = (name) => process.listenerCount(name);
        console.log(JSON.stringify({
          variables: Object.keys(process.env).filter((name) => /AHEAD|^TEST_/.test(name)).sort(),
          listeners: ['message', 'disconnect', 'SIGINT', 'SIGTERM', 'unhandledRejection', 'uncaughtException'].map(count),
          modules: Object.keys(require.cache).filter((name) => /ahead\\.spec/.test(name)),
          worker: testInfo.workerIndex,
          files: require('node:fs').readdirSync('.picket').filter((name) => /ahead/.test(name)),
        }));
      });`;
    for (const runtimeId of stage.runtimes.ids) {
      const [ahead, fresh] = [
        await runIn('ahead', script, { runtimeId }),
        await runIn('fresh', script, { runtimeId }),
      ];
      expect(ahead.end?.status).toBe('passed');
      expect(ahead.output).toEqual(fresh.output);
      expect(JSON.parse(ahead.output[0] ?? '')).toMatchObject({ modules: [], files: [], worker: 0 });
      const titles = ({ steps }: ScriptReport) => steps.map(({ title }) => title);
      expect(titles(ahead)).toEqual(titles(fresh));
      expect(ahead.tests.map(({ attachments }) => attachments.map(({ name }) => name))).toEqual([['trace']]);
      expect([ahead.findings, ahead.pages, ahead.secrets]).toEqual([[], [], []]);
    }
  });
});

it.each([
  [
    "import { test } from '@playwright/test'; test('a', async ({ page }) => { await page.goto('/'); });",
    true,
  ],
  ["test.extend({ a: [async ({}, use) => use(1), { scope: 'worker' }] });", false],
  ["process.on('exit', () => {});", false],
  ["process\n  .once('beforeExit', () => {});", false],
  ["import { spawn } from 'node:child_process';", false],
  ['const context = await browser.newContext();', false],
  ['const browser = await chromium.launch();', false],
])('%s leaves nothing open: %s', (source, isDone) => {
  expect(leavesNothingOpen(['const other = 1;', source])).toBe(isDone);
});
