import { afterAll, beforeAll, describe, expect } from 'vitest';
import { launchScript } from '../../../src/sandbox/scripts/script-process.ts';
import { runScript, type ScriptReport, scriptFiles } from '../../../src/sandbox/scripts/script-run.ts';
import { createPlainSandbox } from '../../helpers/scripts/plain-sandbox.ts';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const head = "import { test, expect } from '@playwright/test';\n";

describe('scripts in warm and fresh processes', () => {
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

  /** Runs a script in a warm process or in a fresh one. */
  async function runIn(
    kind: 'warm' | 'fresh',
    script: string,
    options: {
      readonly hasBrowser?: boolean;
      readonly runtimeId?: string | undefined;
      readonly dependencies?: Parameters<typeof scriptFiles>[0]['dependencies'];
    } = {},
  ): Promise<ScriptReport & { readonly output: string[] }> {
    const runtime = stage.runtimes.find(options.runtimeId ?? stage.runtimes.ids[0] ?? '');
    if (!runtime) throw new Error('there is no such runtime');
    const found = stage.host.browser;
    const browser = options.hasBrowser && !('missing' in found) ? found : undefined;
    const sandbox = await createPlainSandbox();
    const loaded = Promise.withResolvers<void>();
    const output: string[] = [];
    try {
      const running = await launchScript(sandbox, runtime, {
        nodePath: process.execPath,
        isWarm: kind === 'warm',
        browser: kind === 'warm' ? browser : undefined,
        onLoaded: loaded.resolve,
      });
      if (kind === 'warm') await loaded.promise;
      const report = await runScript(running, {
        entry: 'script.ts',
        files: scriptFiles({
          script,
          entry: 'script.ts',
          dependencies: options.dependencies ?? [],
          snippets: [],
        }),
        variables: { TARGET: target.url },
        browser,
        proxyUrl: null,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        onOutput: (_stream, line) => output.push(line),
      });
      return { ...report, output };
    } finally {
      await sandbox.release();
    }
  }

  for (const runtimeId of ['2026.04', '2025.04']) {
    for (const kind of ['warm', 'fresh'] as const) {
      itRuns(`${kind} ${runtimeId}: paths of tsconfig.json are followed`, async () => {
        if (!stage.runtimes.find(runtimeId)) return;
        const paths = { compilerOptions: { baseUrl: '.', paths: { '@lib/*': ['lib/*'] } } };
        const script = `${head}import { name } from '@lib/name'; test('one', () => { expect(name).toBe('Ada'); });`;
        const dependencies = [
          { path: 'tsconfig.json', content: JSON.stringify(paths) },
          { path: 'lib/name.ts', content: "export const name: string = 'Ada';" },
        ];
        const report = await runIn(kind, script, { runtimeId, dependencies });
        expect(report.errors).toEqual([]);
        expect(report.tests.map(({ status }) => status)).toEqual(['passed']);
      });
    }
  }

  itRuns('an error in the teardown of a worker fixture fails the run', async () => {
    const { outcome } = await stage.runMultiStep(
      `import { test as base } from '@playwright/test';
      const test = base.extend({ shop: [async ({}, use) => { await use('x'); throw new Error('teardown broke'); }, { scope: 'worker' }] });
      test('one', async ({ shop }) => { console.log(shop); });`,
    );
    expect(outcome.failure?.code).toBe('SCRIPT_FAILED');
    expect(outcome.errorMessages.join()).toContain('teardown broke');
  });

  itRuns('exit handlers of the process run', async () => {
    const { outcome, artifacts } = await stage.runMultiStep(
      // Obfuscated, so that a text search would not find it.
      `${head} import { writeFileSync } from 'node:fs';
      globalThis['pro' + 'cess']['o' + 'n']('exit', () => { if (process.env.TEST_WORKER_INDEX) writeFileSync('late.png', 'x'); });
      test('one', async () => {});`,
    );
    expect(outcome.failure).toBeUndefined();
    expect(artifacts.map(({ name }) => name)).toContain('screenshots/late.png');
  });

  itRuns('hooks and fixtures of the last test finish, and their output is reported', async () => {
    for (const kind of ['warm', 'fresh'] as const) {
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
    }
  });

  itRuns('a browser that waits is the browser of the script, in every runtime', async () => {
    if ('missing' in stage.host.browser) return;
    const script = `${head}
      test('look', async ({ page, browser }) => {
        await page.goto(process.env.TARGET);
        const { readdirSync, readFileSync } = require('node:fs');
        const textOf = (pid) => { try { return readFileSync('/proc/' + pid + '/cmdline', 'utf8'); } catch { return ''; } };
        const isOwn = (text) => text.includes('--remote-debugging-pipe') && text.includes(process.cwd());
        const browsers = readdirSync('/proc').filter(Number).map(textOf).filter(isOwn);
        console.log(browsers.map((text) => text.includes('/.picket/node_modules/profile-')));
        await browser.close();
        const { chromium } = require('playwright');
        const own = await chromium.launch();
        console.log((await own.newContext()) !== undefined);
      });`;
    for (const runtimeId of stage.runtimes.ids) {
      const [warm, fresh] = [
        await runIn('warm', script, { runtimeId, hasBrowser: true }),
        await runIn('fresh', script, { runtimeId, hasBrowser: true }),
      ];
      expect(warm.output, runtimeId).toEqual(['[ true ]', 'true']);
      expect(fresh.output, runtimeId).toEqual(warm.output);
      const titles = ({ steps }: ScriptReport) => steps.map(({ title }) => title);
      expect(titles(warm)).toEqual(titles(fresh));
    }
  });

  itRuns('a run in a warm process looks like one in a fresh process', async () => {
    const script = `${head}
      test('look', async ({ request }, testInfo) => {
        expect((await request.get(process.env.TARGET)).status()).toBe(200);
        const count = (name) => process.listenerCount(name);
        console.log(JSON.stringify({
          variables: Object.keys(process.env).filter((name) => /^(?:TEST|PICKET)_/.test(name)).sort(),
          listeners: ['message', 'disconnect', 'SIGINT', 'SIGTERM', 'unhandledRejection', 'uncaughtException'].map(count),
          worker: testInfo.workerIndex,
          gc: typeof globalThis.gc,
          options: process.execArgv,
        }));
      });`;
    for (const runtimeId of stage.runtimes.ids) {
      const [warm, fresh] = [
        await runIn('warm', script, { runtimeId }),
        await runIn('fresh', script, { runtimeId }),
      ];
      expect(warm.end?.status).toBe('passed');
      expect(warm.output).toEqual(fresh.output);
      expect(JSON.parse(warm.output[0] ?? '')).toMatchObject({ worker: 0, gc: 'undefined', options: [] });
      const titles = ({ steps }: ScriptReport) => steps.map(({ title }) => title);
      expect(titles(warm)).toEqual(titles(fresh));
      expect(warm.tests.map(({ attachments }) => attachments.map(({ name }) => name))).toEqual([['trace']]);
      expect([warm.findings, warm.pages, warm.secrets]).toEqual([[], [], []]);
    }
  });
});
