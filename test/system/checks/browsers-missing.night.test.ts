import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resultFlags } from '../../../src/checks/contract/failure.ts';
import { openBrowsers } from '../../../src/sandbox/browsers/open-browsers.ts';
import { isNight } from '../../helpers/night.ts';
import { linkRuntime, type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';

const head = "import { test, expect } from '@playwright/test';\n";

/** Real browsers that are missing or do not start, as Playwright finds them: never a failure of the target. */
describe('a browser that is missing or does not start', () => {
  let stage: SuiteStage;
  let folder: string;
  beforeAll(async () => {
    stage = await startSuiteStage();
    folder = await mkdtemp(join(tmpdir(), 'picket-no-browser-'));
    // The users of sandboxes must be able to traverse it.
    await chmod(folder, 0o755);
  });
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  function itOpens(name: string, run: () => Promise<void>): void {
    it(name, { timeout: 120_000 }, async (context) => {
      const missing = stage.scripts.missingBrowser;
      if (missing && process.env.CI !== 'true') context.skip(missing);
      expect(missing).toBeUndefined();
      await run();
    });
  }

  /** The agent's browsers with this program as Chromium. */
  async function browserAt(chromiumPath: string) {
    const directory = await mkdtemp(join(folder, 'links-'));
    const browser = await openBrowsers({ directory, runtimes: stage.scripts.runtimes, chromiumPath });
    expect(browser).not.toHaveProperty('missing');
    return { ...stage.host, browser };
  }

  function expectAgent(failure: { owner: string; code: string; message: string } | undefined, says: RegExp) {
    expect(failure).toMatchObject({ owner: 'agent', code: 'BROWSER_MISSING' });
    expect(failure?.message).toMatch(says);
    expect(resultFlags(failure as { owner: 'agent' })).toEqual({ hasFailures: false, hasErrors: true });
  }

  const opens = `${head}test('opens', async ({ page }) => { await page.goto('about:blank'); });`;

  itOpens('in the project that npm init playwright creates', async () => {
    const { outcome } = await stage.run(
      {
        'playwright.config.ts': `import { defineConfig, devices } from '@playwright/test';
          export default defineConfig({ testDir: './tests', fullyParallel: true, reporter: 'html', use: { trace: 'on-first-retry' },
            projects: [
              { name: 'chromium', use: { ...devices['Desktop Chrome'] } },
              { name: 'firefox', use: { ...devices['Desktop Firefox'] } },
              { name: 'webkit', use: { ...devices['Desktop Safari'] } },
            ] });`,
        'tests/example.spec.ts': opens,
      },
      { spec: { ...linkRuntime(stage), browsers: ['chromium'] } },
    );
    expectAgent(outcome.failure, /no firefox: /);
    expectAgent(outcome.failure, /no webkit: /);
  });

  itOpens('in a script that opens Firefox or Chrome itself, as a test and as a plain script', async () => {
    const { runBrowser } = stage.scripts;
    const firefox = await runBrowser(
      `import { firefox, test } from '@playwright/test'; test('opens', async () => { await firefox.launch(); });`,
    );
    expectAgent(firefox.outcome.failure, /no firefox/);
    const plain = await runBrowser(`const { firefox } = require('playwright'); await firefox.launch();`);
    expectAgent(plain.outcome.failure, /no firefox/);
    const chrome = await runBrowser(`${head}test.use({ channel: 'chrome' });${opens.slice(head.length)}`);
    expectAgent(chrome.outcome.failure, /no chrome/);
    const persistent = await runBrowser(
      `import { webkit, test } from '@playwright/test'; test('opens', async () => { await webkit.launchPersistentContext(''); });`,
    );
    expectAgent(persistent.outcome.failure, /no webkit/);
  });

  itOpens('if CHROMIUM_PATH names another program', async () => {
    const scripts = await browserAt('/bin/false');
    const { outcome } = await stage.scripts.runBrowser(opens, { context: { scripts } });
    expectAgent(outcome.failure, /does not start/);
    const suite = await stage.run(
      { 'a.spec.ts': opens },
      { spec: { ...linkRuntime(stage), browsers: ['chromium'] }, host: scripts },
    );
    expectAgent(suite.outcome.failure, /does not start/);
  });

  itOpens('if it hangs', async () => {
    const hanging = join(folder, 'hanging');
    await writeFile(hanging, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const scripts = await browserAt(hanging);
    const fixture = await stage.scripts.runBrowser(opens, { context: { scripts, timeoutMs: 30_000 } });
    expectAgent(fixture.outcome.failure, /does not start/);
    // Playwright's worker waits half a minute for such a browser to exit.
    const own =
      isNight &&
      (await stage.scripts.runBrowser(
        `import { chromium, test } from '@playwright/test'; test.setTimeout(2000); test('opens', async () => { await chromium.launch(); });`,
        { context: { scripts } },
      ));
    if (own) expectAgent(own.outcome.failure, /does not start/);
    const plain = await stage.scripts.runBrowser(
      `const { chromium } = require('playwright'); await chromium.launch();`,
      { context: { scripts, timeoutMs: 12_000 } },
    );
    expectAgent(plain.outcome.failure, /does not start/);
    const suite = await stage.run(
      {
        'playwright.config.ts': `import { defineConfig } from '@playwright/test'; export default defineConfig({ globalTimeout: 6000, retries: 0 });`,
        'a.spec.ts': opens,
      },
      { spec: { ...linkRuntime(stage), browsers: ['chromium'] }, host: scripts },
    );
    expectAgent(suite.outcome.failure, /does not start/);
  });

  itOpens('if ffmpeg is missing and a script records by itself', async () => {
    const { browser } = stage.host;
    const scripts = { ...stage.host, browser: { ...browser, ffmpegPath: undefined } };
    const records = `import { chromium, test } from '@playwright/test';
      test('records', async () => {
        const browser = await chromium.launch();
        const context = await browser.newContext({ recordVideo: { dir: 'videos' } });
        await context.newPage();
      });`;
    const { outcome } = await stage.scripts.runBrowser(records, { context: { scripts } });
    expectAgent(outcome.failure, /no ffmpeg/);
  });

  itOpens('and a target that is also down remains a failure of the target', async () => {
    const { outcome } = await stage.scripts.runBrowser(
      `import { firefox, test, expect } from '@playwright/test';
       test('opens', async () => { await firefox.launch(); });
       test('answers', async ({ request }) => { await request.get('http://127.0.0.1:9/'); });`,
      { spec: { browsers: ['chromium'] } },
    );
    expect(outcome.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
  });
});
