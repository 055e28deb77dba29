import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { BrowserDetail } from '../../../src/checks/script/detail.ts';
import type { OtherBrowser } from '../../../src/sandbox/browsers/other-browsers.ts';
import type { Runtime } from '../../../src/sandbox/runtimes/runtimes.ts';
import { isNight } from '../../helpers/night.ts';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { standInBrowser } from '../../helpers/scripts/stand-in-browser.ts';
import { blocksOf } from '../docs/command-blocks.ts';

/** Playwright's own builds cannot be had here: programs that speak its protocol stand in for them. */
describe('scripts in other browsers than Chromium', () => {
  let stage: ScriptStage;
  let folder: string;
  beforeAll(async () => {
    stage = await startScriptStage();
    folder = await mkdtemp(join(tmpdir(), 'picket-script-browsers-'));
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'chromium'));
  });
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  const itRuns = scriptTests(() => stage);
  const newest = (): Runtime => {
    const runtime = stage.runtimes.find(stage.runtimes.ids[0] ?? '');
    if (!runtime) throw new Error('no runtime is installed');
    return runtime;
  };
  /** Runs a script on an agent with these browsers besides a Chromium, which is a program that does not start. */
  const run = async (script: string, otherBrowsers: readonly OtherBrowser[], spec: object = {}) => {
    const { outcome, artifacts } = await stage.runBrowser(script, {
      spec: { ...spec },
      context: {
        scripts: {
          ...stage.host,
          browser: {
            directory: join(folder, 'chromium'),
            executablePath: '/bin/false',
            startPath: '/bin/false',
          },
          otherBrowsers,
        },
      },
    });
    return { ...outcome, artifacts };
  };
  const tests = (body: string) =>
    `import { test, expect } from '@playwright/test'; test('opens', async ({ browser, browserName }) => { ${body} });`;
  const isFirefox = tests(
    "expect(browserName).toBe('firefox'); expect(browser.version()).toBe('146.0'); await browser.newContext();",
  );

  itRuns('open the first of the field, without the arguments and the channel of others', async () => {
    const firefox = await standInBrowser(folder, 'firefox', newest());
    const outcome = await run(isFirefox, [firefox], { browsers: ['firefox'] });
    expect(outcome.failure, JSON.stringify(outcome.detail.errors)).toBeUndefined();
    expect(outcome.detail.browsers).toEqual([{ name: 'firefox', version: '146.0' }]);
    expect(BrowserDetail.parse(outcome.detail)).toEqual(outcome.detail);
    expect(outcome.detail.playwrightTestTraces).toEqual(['traces/opens.zip']);
    expect(await firefox.lastArguments()).not.toContain('--disable-gpu');
    const other = { ...firefox, version: '1' };
    expect((await run(isFirefox, [other], { browsers: ['firefox'] })).failure).toMatchObject({
      code: 'BROWSER_MISSING',
      message: expect.stringContaining(`opens firefox ${firefox.version}: install it with`),
    });
  });

  itRuns('open what a plain script names, and keep its trace', async () => {
    const webkit = await standInBrowser(folder, 'webkit', newest());
    const opens = `import { webkit } from 'playwright';
      const browser = await webkit.launch();
      await (await browser.newContext()).close();
      await browser.close();`;
    const outcome = await run(opens, [webkit]);
    expect(outcome.failure, JSON.stringify(outcome.detail.errors)).toBeUndefined();
    expect(outcome.detail.browsers).toMatchObject([{ name: 'webkit' }]);
    expect(outcome.artifacts.map(({ name }) => name)).toContain('traces/trace-1.zip');
    expect((await run(opens, [])).failure).toEqual({
      owner: 'agent',
      code: 'BROWSER_MISSING',
      message: 'This agent has no webkit: install it with "picket browsers install webkit"',
    });
  });

  itRuns('never open another in its place, as the example of the documents', async () => {
    const example = blocksOf('docs/reference/scripts.md').find(({ text }) => text.includes('"browsers"'));
    const { script, browsers } = JSON.parse(example?.text ?? '');
    const { failure, detail } = await run(script, [], { browsers });
    expect(failure?.message).toBe(
      'This agent has no firefox: install it with "picket browsers install firefox"',
    );
    expect(detail.tests).toEqual([]);
  });

  itRuns('are at fault if they open one that their check does not name', async () => {
    const firefox = await standInBrowser(folder, 'firefox', newest());
    const script = "const { firefox } = require('playwright'); await firefox.launch();";
    const { failure } = await run(script, [firefox], { browsers: ['chromium'] });
    expect(failure).toMatchObject({ owner: 'config', code: 'SCRIPT_INVALID' });
    expect(failure?.message).toContain('add firefox to "browsers" (chromium now)');
  });

  if (isNight) {
    itRuns('open what test.use and projects choose, in every runtime', async () => {
      for (const id of stage.runtimes.ids) {
        const runtime = stage.runtimes.find(id) as Runtime;
        const firefox = await standInBrowser(folder, 'firefox', runtime);
        const webkit = await standInBrowser(folder, 'webkit', runtime);
        const uses = isFirefox.replace("'; test(", "'; test.use({ browserName: 'firefox' }); test(");
        for (const browsers of [[], ['chrome', 'firefox']]) {
          const here = [firefox, { name: 'chrome', version: '1', path: '/bin/false' }];
          const chosen = await run(uses, here, { browsers, runtimeId: id });
          expect(chosen.failure, JSON.stringify(chosen.detail.errors)).toBeUndefined();
        }
        const projects = [
          { name: 'one', use: { browserName: 'firefox' } },
          { name: 'two', use: { browserName: 'webkit' } },
        ];
        const each = await run(
          tests('expect(browserName).toBe(test.info().project.name === "one" ? "firefox" : "webkit");'),
          [firefox, webkit],
          {
            runtimeId: id,
            playwrightConfig: { projects, use: { channel: 'chrome' } },
            browsers: ['chrome', 'firefox', 'webkit'],
          },
        );
        expect(each.failure?.code).toBe('BROWSER_MISSING');
        const both = await run(
          tests('expect(browserName).toBe(test.info().project.name === "one" ? "firefox" : "webkit");'),
          [firefox, webkit],
          { runtimeId: id, playwrightConfig: { projects } },
        );
        expect(both.failure, JSON.stringify(both.detail.errors)).toBeUndefined();
        expect(both.detail.browsers?.map(({ name }) => name)).toEqual(['firefox', 'webkit']);
      }
    });
  }
});
