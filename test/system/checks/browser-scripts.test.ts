import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserDetail } from '../../../src/checks/script/detail.ts';
import { type ScriptStage, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import type { Reply, Route } from '../../helpers/targets/http-routes.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const html =
  (body: string): Route =>
  (_request, reply: Reply) => {
    reply.writeHead(200, { 'content-type': 'text/html' });
    reply.end(`<!doctype html><title>Shop</title>${body}`);
  };

/** Measures how long a request takes. */
const timed = `(async (at) => { await (await fetch('/echo')).text(); return performance.now() - at; })(performance.now())`;

const routes: Readonly<Record<string, Route>> = {
  shop: html('<h1>Shop</h1><a href="/cart" target="_blank">Cart</a><input name="q"><button>Go</button>'),
  cart: html('<h1>Cart</h1>'),
  // `taken`: times of requests, of a worker first.
  slow: html(`<script>
    const frame = document.createElement('iframe');
    frame.src = 'http://localhost:' + location.port + '/slow-frame';
    document.documentElement.append(frame);
    new Worker('/slow-worker').onmessage = ({ data }) => ${timed}.then((own) => { window.taken = [data, own]; });
  </script>`),
  'slow-frame': html(`<script>${timed}.then((own) => { window.taken = [own]; })</script>`),
  'slow-worker': (_request, reply) => {
    reply.writeHead(200, { 'content-type': 'text/javascript' });
    reply.end(`${timed}.then(postMessage)`);
  },
  noisy: html(
    '<h1>Noisy</h1><script>console.error("from the console"); setTimeout(() => { throw new Error("from the page") })</script>' +
      '<script src="/status/404"></script>',
  ),
};

describe('browser checks', () => {
  let stage: ScriptStage;
  let target: HttpTarget;
  beforeAll(async () => {
    stage = await startScriptStage();
    target = await startHttpTarget({ routes });
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
  });

  /** A test that needs a browser: skipped, with the reason, without a browser; never skipped on a build machine. */
  function itBrowses(name: string, test: () => Promise<void>): void {
    it(name, { timeout: 120_000 }, async (context) => {
      const { missingBrowser } = stage;
      if (missingBrowser && process.env.CI !== 'true') context.skip(missingBrowser);
      expect(missingBrowser).toBeUndefined();
      await test();
    });
  }
  /** The browser was started ahead, and Playwright rewrote no file but the script: both only cost time if they do not work. */
  const observations = `
    const { readdirSync, readFileSync } = require('node:fs');
    const textOf = (pid) => { try { return readFileSync('/proc/' + pid + '/cmdline', 'utf8'); } catch { return ''; } };
    const isOwn = (text) => text.includes('--remote-debugging-pipe') && text.includes(process.cwd());
    const browsers = readdirSync('/proc').filter(Number).map(textOf).filter(isOwn);
    const early = browsers.filter((text) => text.includes('/.picket/node_modules/profile-'));
    console.log('browsers ' + browsers.length + ', early ' + early.length);
    const files = readdirSync(process.env.PWTEST_CACHE_DIR, { recursive: true }).filter((name) => name.endsWith('.js'));
    console.log('transformed ' + files.map((name) => name.split('_').pop()));`;
  const visit = (path: string, body = '') =>
    `import { test, expect } from '@playwright/test';
     test('visits', async ({ page }) => { await page.goto('${target.url}${path}'); ${body} });`;

  itBrowses('have a slower network in pages, frames of other sites, workers and popups', async () => {
    const taken = '() => window.taken';
    const script = `import { test, expect } from '@playwright/test';
      test('slow', async ({ page, context }) => {
        await page.goto('${target.url}/slow');
        const frame = page.frame({ url: /slow-frame/ });
        for (const one of [page, frame]) await one.waitForFunction(${taken});
        const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(() => void window.open('/slow-frame'))]);
        await popup.waitForFunction(${taken});
        const times = [await page.evaluate(${taken}), await frame.evaluate(${taken}), await popup.evaluate(${taken})].flat();
        expect(times).toHaveLength(4);
        await context.setOffline(true);
        await context.setOffline(false);
        times.push(await page.evaluate(async () => { const at = performance.now(); await fetch('/echo'); return performance.now() - at; }));
        for (const time of times) expect(time).toBeGreaterThan(290);
      });`;
    const throttling = { profile: 'CUSTOM', latencyMs: 300 };
    const { outcome } = await stage.runBrowser(script, { spec: { throttling } });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.throttling).toEqual({ downloadKbps: null, uploadKbps: null, ...throttling });

    const connects = "const { firefox } = require('playwright'); await firefox.launch();";
    const refused = await stage.runBrowser(connects, { spec: { throttling, browsers: ['chromium'] } });
    expect(refused.outcome.failure?.message).toContain('which Chromium alone supports, not firefox');
  });

  itBrowses('pass, and report the page, the steps, the log and the evidence', async () => {
    const { outcome, artifacts } = await stage.runBrowser(
      visit(
        '/shop',
        "console.log('buying'); await test.step('search', async () => { await page.fill('input', 'tea'); });" +
          `await page.screenshot({ path: 'mine.png' }); ${observations}`,
      ),
    );
    expect(outcome.failure).toBeUndefined();
    expect(outcome.isDegraded).toBe(false);
    expect(BrowserDetail.parse(outcome.detail)).toEqual(outcome.detail);
    const { detail } = outcome;
    expect(detail).toMatchObject({
      type: 'PLAYWRIGHT_TEST',
      runtimeVersion: stage.runtimes.ids[0],
      traceSummary: { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 },
      pages: [{ url: `${target.url}/shop`, webVitals: { CLS: { score: 'GOOD' }, TTFB: { score: 'GOOD' } } }],
      tests: [{ title: 'visits', status: 'passed' }],
      browsers: [{ name: 'chromium', version: expect.stringMatching(/^\d+\./) }],
      jobAssets: ['screenshots/mine.png'],
      playwrightTestTraces: ['traces/visits.zip'],
      playwrightTestJsonReportFile: 'report.json',
    });
    expect(detail.pages[0]?.pageTimings.onLoad).toBeGreaterThan(0);
    const log = detail.jobLog.map(({ level, msg }) => `${level} ${msg}`);
    expect(log).toEqual(['INFO buying', 'INFO browsers 1, early 1', 'INFO transformed script.js']);
    const search = detail.steps.find(({ title }) => title === 'search');
    expect(search).toMatchObject({ category: 'test.step', test: 'visits', location: { line: 2 } });
    expect(detail.steps.some(({ depth, category }) => depth === 1 && category === 'pw:api')).toBe(true);
    expect(artifacts.map(({ name, contentType }) => [name, contentType])).toEqual(
      expect.arrayContaining([
        ['traces/visits.zip', 'application/zip'],
        ['screenshots/mine.png', 'image/png'],
        ['report.json', 'application/json'],
      ]),
    );
  });

  itBrowses('fail by the script with a message, the position and a screenshot', async () => {
    const { outcome } = await stage.runBrowser(
      visit('/shop', "await expect(page.locator('h1')).toHaveText('Closed', { timeout: 300 });"),
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
    expect(outcome.failure?.message).toContain('toHaveText');
    expect(outcome.errorMessages).toHaveLength(1);
    expect(outcome.detail.errors).toMatchObject([{ test: 'visits' }]);
    expect(outcome.detail.errors[0]?.stack).toContain('script.ts:2');
    expect(outcome.detail.jobAssets).toHaveLength(1);
    expect(outcome.detail.traceSummary.userScriptErrors).toBe(1);
  });

  itBrowses('count problems in pages, and pass anyway', async () => {
    const { outcome } = await stage.runBrowser(visit('/noisy', 'await page.waitForTimeout(100);'));
    expect(outcome.failure).toBeUndefined();
    const { traceSummary, pageErrors } = outcome.detail;
    // The browser itself logs to the console that the script was not found.
    expect(traceSummary).toEqual({
      consoleErrors: 2,
      networkErrors: 1,
      documentErrors: 1,
      userScriptErrors: 0,
    });
    expect(pageErrors.map(({ kind, message }) => `${kind}: ${message}`)).toEqual(
      expect.arrayContaining(['console: from the console', 'document: from the page', 'network: GET 404']),
    );
  });

  itBrowses('follow popups', async () => {
    const { outcome } = await stage.runBrowser(
      visit(
        '/shop',
        "const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('a')]);" +
          "await expect(popup.locator('h1')).toHaveText('Cart');",
      ),
    );
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.pages.map(({ url }) => new URL(url).pathname)).toEqual(['/shop', '/cart']);
  });

  itBrowses('also run as plain scripts, with types and top-level await', async () => {
    const { outcome, artifacts } = await stage.runBrowser(`
      import { chromium, type Page } from 'playwright';
      const title: string = await Promise.resolve('Shop');
      const browser = await chromium.launch();
      const page: Page = await browser.newPage();
      await page.goto('${target.url}/shop');
      if ((await page.title()) !== title) throw new Error('wrong title');
      console.log('done');
      await browser.close();`);
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail).toMatchObject({
      type: 'PLAYWRIGHT',
      pages: [{ url: `${target.url}/shop` }],
      jobLog: [{ msg: 'done', level: 'INFO' }],
      playwrightTestTraces: ['traces/trace-1.zip'],
    });
    expect(artifacts).toHaveLength(1);
  });

  itBrowses('keep a screenshot of a plain script that fails while its browser is open', async () => {
    const { outcome } = await stage.runBrowser(`
      const { chromium } = require('playwright');
      (async () => {
        const page = await (await chromium.launch()).newPage();
        await page.goto('${target.url}/shop');
        throw new Error('not here');
      })();`);
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED', message: 'not here' });
    expect(outcome.detail.errors[0]?.stack).toContain('script.ts:6:');
    expect(outcome.detail.jobAssets).toEqual(['screenshots/failure-1.png']);
    expect(outcome.detail.playwrightTestTraces).toHaveLength(1);
  });

  itBrowses('do not open files or the browser’s own pages', async () => {
    for (const url of ['file:///etc/hostname', 'chrome://crash']) {
      const { outcome } = await stage.runBrowser(
        `import { test } from '@playwright/test'; test('t', async ({ page }) => { await page.goto('${url}'); });`,
      );
      expect(outcome.failure?.message, url).toContain(`Checks may not open ${url}`);
    }
  });

  itBrowses('are not blocked by dialogs', async () => {
    const { outcome } = await stage.runBrowser(
      visit(
        '/shop',
        'await page.evaluate(() => { for (let i = 0; i < 20; i += 1) alert(i); });' +
          'await page.evaluate(() => { addEventListener("beforeunload", (event) => event.preventDefault()); });',
      ),
    );
    expect(outcome.failure).toBeUndefined();
  });

  itBrowses('open a browser in every installed runtime', async () => {
    for (const runtimeId of stage.runtimes.ids) {
      const { outcome } = await stage.runBrowser(visit('/shop'), { spec: { runtimeId } });
      expect(outcome.failure, runtimeId).toBeUndefined();
      expect(outcome.detail.runtimeVersion).toBe(runtimeId);
      expect(outcome.detail.pages).toHaveLength(1);
    }
  });

  it('explain what to do if there is no browser', async (context) => {
    if (stage.missingRuntimes) context.skip(stage.missingRuntimes);
    const { outcome } = await stage.runBrowser(visit('/shop'), {
      context: { scripts: { ...stage.host, browser: { missing: 'No browser was found: install one' } } },
    });
    expect(outcome.failure).toEqual({
      owner: 'agent',
      code: 'BROWSER_MISSING',
      message: 'No browser was found: install one',
    });
  });
});
