import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { artifactOf, type TestArtifact, upload } from '../../helpers/service/artifact-upload.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

// Files of scripts and targets, opened in a real browser: they work, and cannot access anything of the pages.
let stage: ConsoleStage;
let runPath: string;

/** Tries everything that a hostile file might, and writes the results into its page. */
const hostileReport = `<!doctype html><title>Report</title><img id="part" src="data/dot.png"><pre id="got"></pre>
<script>
const got = {};
const attempt = (name, act) => { try { got[name] = String(act() ?? 'nothing'); } catch (error) { got[name] = error.name; } };
attempt('cookie', () => document.cookie);
attempt('storage', () => { localStorage.setItem('kept', 'here'); return localStorage.getItem('kept') + localStorage.kept; });
attempt('opener', () => window.opener && window.opener.document.title);
attempt('worker', () => navigator.serviceWorker.register('data/worker.js').then(() => report('worker', 'registered'), (error) => report('worker', error.name)));
const report = (name, value) => { got[name] = value; document.querySelector('#got').textContent = JSON.stringify(got); };
for (const address of ['/', '/v1/checks', location.origin.replace('files.localhost', '127.0.0.1') + '/v1/checks', PAGES]) {
  fetch(address, { credentials: 'include' }).then((answer) => report(address, answer.status), (error) => report(address, error.name));
}
fetch('data/part.json').then((answer) => answer.text()).then((text) => report('own part', text), (error) => report('own part', error.name));
</script>`;

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A trace that Playwright itself recorded. */
async function recordedTrace(): Promise<Buffer> {
  const folder = temporaryFolder();
  const context = await stage.browser.newContext();
  await context.tracing.start({ snapshots: true, screenshots: true });
  const page = await context.newPage();
  await page.setContent('<h1>The shop is open</h1><button>Buy</button>');
  await page.getByRole('button', { name: 'Buy' }).click();
  const path = join(folder.path, 'trace.zip');
  await context.tracing.stop({ path });
  await context.close();
  const bytes = readFileSync(path);
  folder.remove();
  return bytes;
}

beforeAll(async () => {
  stage = await ConsoleStage.open({ artifactsHost: 'files.localhost' });
  await stage.addCheck('shop');
  const file = (name: string, contentType: string, bytes: Buffer | string): TestArtifact =>
    artifactOf(Buffer.from(bytes), { name, contentType });
  const files = [
    file('playwright-report/index.html', 'text/html', hostileReport.replace('PAGES', `'${stage.url}/'`)),
    file('playwright-report/data/dot.png', 'image/png', dot),
    file('playwright-report/data/part.json', 'application/json', '{"part":1}'),
    file('playwright-report/data/worker.js', 'text/javascript', 'self.onfetch = () => {};'),
    file(
      'drawing.svg',
      'image/svg+xml',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    ),
    file('traces/buys-a-log.zip', 'application/zip', await recordedTrace()),
  ];
  let leased: LeasedRun | undefined;
  await stage.runOnce((_name, run) => {
    leased = run;
    return { artifacts: files.map(({ reported }) => reported) };
  });
  if (!leased) throw new Error('the check did not run');
  for (const { bytes, reported } of files) {
    const sent = { url: stage.url, key: stage.location.key, run: leased, name: reported.name, bytes };
    expect(await upload(sent)).toMatchObject({ status: 200 });
  }
  runPath = `/checks/${stage.checks.get('shop')}/runs/${leased.resultId}`;
});
afterAll(() => stage?.close());

/** Follows a link of the run's page. Returns the tab that it opens. */
async function opened(page: Page, name: string): Promise<Page> {
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name }).click(),
  ]);
  return tab;
}

it('a trace opens in Playwright’s own viewer, at an origin without cookies', async () => {
  await using window = await stage.visit();
  await window.go(runPath);
  const viewer = await opened(window.page, 'Open in the trace viewer');
  await viewer.getByText('Click', { exact: false }).first().waitFor();
  expect(new URL(viewer.url()).hostname).toBe('files.localhost');
  expect(await viewer.evaluate('document.cookie')).toBe('');
  await viewer.getByText('Click', { exact: false }).first().click();
  const snapshot = () => viewer.frames().find((frame) => frame.url().includes('/trace-viewer/snapshot/'));
  await expect.poll(() => snapshot()?.locator('h1').innerText()).toBe('The shop is open');
  expect((await window.context.cookies('http://files.localhost')).length).toBe(0);
});

it('a report runs its scripts and loads its parts, and reaches nothing else', async () => {
  await using window = await stage.visit();
  await window.go(runPath);
  const report = await opened(window.page, 'Open the report');
  const got = async () => JSON.parse((await report.locator('#got').textContent()) || '{}');
  await expect.poll(async () => Object.keys(await got()).length).toBe(9);
  const answers = await got();
  expect(answers).toMatchObject({ cookie: 'SecurityError', storage: 'herehere', 'own part': '{"part":1}' });
  expect(answers.opener).toBe('nothing');
  expect(answers.worker).not.toBe('registered');
  const addresses = Object.keys(answers).filter((name) => /^(\/|http)/.test(name));
  expect(addresses).toHaveLength(4);
  for (const address of addresses) expect(answers[address], address).toBe('TypeError');
  await expect.poll(() => report.evaluate(`document.querySelector('#part').naturalWidth`)).toBe(1);
});

describe('the address of an opened file', () => {
  /** The status without a browser and cookies; only browsers resolve names below localhost. */
  const get = async (address: string, headers = {}) => {
    const { host, pathname } = new URL(address);
    const answer = await stage.harness.app.inject({ url: pathname, headers: { host, ...headers } });
    return answer.statusCode;
  };
  const addressOf = async (page: Page) => {
    await page.goto(`${stage.url}${runPath}`);
    return (await page.getByRole('link', { name: 'Open the report' }).getAttribute('href')) ?? '';
  };

  it('needs no cookie, opens only that run, and ends with the session', async () => {
    await using window = await stage.visit();
    const href = await addressOf(window.page);
    expect(await get(href)).toBe(200);
    const part = href.replace('index.html', 'data/part.json');
    expect(await get(part, { range: 'bytes=1-3' })).toBe(206);
    expect(await get(part, { 'service-worker': 'script' })).toBe(403);
    for (const changed of [2, 3, 4, 5]) {
      const { origin, pathname } = new URL(href);
      const parts = pathname.split('/');
      const [part = ''] = parts.slice(changed);
      parts[changed] = `${part.slice(0, -1)}${part.endsWith('0') ? '1' : '0'}`;
      expect(await get(origin + parts.join('/')), `part ${changed}`).toBe(403);
    }
    await window.page.getByRole('button', { name: 'Log out' }).click();
    await window.page.waitForURL(/login/);
    expect(await get(href)).toBe(403);
  });

  it('has no pages and no API, and the pages have no trace viewer', async () => {
    const { port } = new URL(stage.url);
    const files = `http://files.localhost:${port}`;
    for (const path of ['/', '/login', '/v1/checks', '/v1/openapi.json', '/assets/app.js']) {
      expect(await get(`${files}${path}`), path).toBe(404);
    }
    expect(await get(`${files}/trace-viewer/index.html`)).toBe(200);
    expect(await get(`${stage.url}/trace-viewer/index.html`)).toBe(404);
  });

  it('shows a drawing with a script as foreign content, too', async () => {
    await using window = await stage.visit();
    const href = (await addressOf(window.page)).replace('playwright-report/index.html', 'drawing.svg');
    await window.page.goto(href);
    expect(await window.page.evaluate('self.origin')).toBe('null');
  });
});
