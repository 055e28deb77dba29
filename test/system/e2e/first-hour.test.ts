import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { isNight } from '../../helpers/night.ts';
import { programEnvironment } from '../../helpers/program.ts';
import { type RunningCommand, startInShell } from '../docs/shell.ts';

/** From `npm start` to a check, its alert and its status page, by clicks in a real browser. */

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'picket-first-hour-'));
const received: string[] = [];
let start: RunningCommand;
let browser: Browser;
let target: Server;
let page: Page;
/** Every click counts, also the one on the printed link. */
let clicks = 0;
const environment = {
  ...programEnvironment,
  PATH: process.env.PATH ?? '',
  HOME: folder,
  NO_COLOR: '1',
  npm_config_update_notifier: 'false',
  PICKET_START_DIR: join(folder, 'start'),
};

beforeAll(async () => {
  target = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`);
    request.resume();
    response.end('<h1>Shop</h1>');
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  start = startInShell('npm start', { cwd: root, environment });
  await start.until((output) => /^PASSED /m.test(output));
  const { executablePath } = await findBrowser({ unpackedPath: undefined });
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
});
afterAll(async () => {
  await browser?.close();
  await start?.interrupt();
  target?.close();
  rmSync(folder, { recursive: true, force: true });
});

const address = () => `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
const click = async (name: string | RegExp, role: 'button' | 'link' = 'button') => {
  clicks += 1;
  await page.getByRole(role, { name }).first().click();
};

describe('the first hour', () => {
  it('leads from the link of npm start to a check, an alert and a public page', async () => {
    const [, link = ''] = /^Open +(http:\S+)/m.exec(start.output()) ?? [];
    expect(link).toContain('?next=/start');
    clicks += 1;
    await page.goto(link);
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    // The agent of npm start is there: the first step is done.
    await page.getByLabel('URL to check').fill(`${address()}/shop`);
    await click('Create the check and run it');
    await page.locator('#first-run .state-passed').waitFor();
    expect(received).toContain('GET /shop');
    await page.getByLabel('Mail address, Slack webhook or other webhook URL').fill(`${address()}/hook`);
    await click('Create it and send a test');
    await page.getByText('The test arrived.').waitFor();
    expect(received).toContain('POST /hook');
    await click('Publish the page');
    await page.getByText('All steps are done.').waitFor();
    await click('Open Status', 'link');
    await page.getByRole('heading', { name: 'Status' }).first().waitFor();
    expect(await page.content()).toContain('/shop');
    expect(clicks).toBeLessThanOrEqual(12);
  });

  /** Opens the page of the second location, and waits for the last words of its agent. */
  async function expectSignedOff(origin: string): Promise<void> {
    await page.goto(`${origin}/locations`);
    await page.getByRole('link', { name: 'Second place' }).click();
    await expect
      .poll(async () => {
        await page.reload();
        return page.locator('#agents').innerText();
      })
      .toContain('signed off');
  }

  // A skipped test counts as failed in CI.
  if (isNight)
    it('shows commands for another location that work as they are, and turns green by itself', async () => {
      const { origin } = new URL(page.url());
      await page.goto(`${origin}/locations/new`);
      await page.getByLabel('Name', { exact: true }).fill('Second place');
      await page.getByLabel('Short name').fill('second');
      await page.getByRole('button', { name: /Create location/ }).click();
      await page.getByText('Waiting for the agent').waitFor();
      // The settings of the Docker command, in a process of this machine: containers are not to be had everywhere.
      const docker = await page
        .locator('.command-tab-docker pre', { hasText: '--network host' })
        .first()
        .innerText();
      const settings = [...docker.matchAll(/-e ([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]);
      const inContainer = { ...environment, ...Object.fromEntries(settings), SPOOL_DIR: folder };
      const container = startInShell('npm run picket -- agent', { cwd: root, environment: inContainer });
      try {
        await page.locator('#agent-dot .state-passed').waitFor({ timeout: 120_000 });
      } finally {
        await container.interrupt();
      }
      // The agent signed off: the page offers the commands again.
      await expectSignedOff(origin);
      await page.getByRole('button', { name: 'Show the command with a new key' }).click();
      await page.getByText('Waiting for the agent').waitFor();
      await page.getByText('npm', { exact: true }).click();
      const command = await page.locator('.command-tab-npm pre').innerText();
      const agent = startInShell(command, { cwd: root, environment });
      try {
        await page.locator('#agent-dot .state-passed').waitFor({ timeout: 120_000 });
        // The key is still on the page: only the dot was replaced.
        expect(await page.locator('.command-tab-npm pre').innerText()).toBe(command);
        await page.goto(`${origin}/locations`);
        expect(await page.locator('.fleet tr', { hasText: 'second' }).innerText()).toContain('1 connected');
      } finally {
        await agent.interrupt();
      }
      await expectSignedOff(origin);
    });

  it('deletes the examples with one click, and keeps the own check', async () => {
    const { origin } = new URL(page.url());
    await page.goto(`${origin}/`);
    await page.getByRole('button', { name: 'Delete them' }).click();
    await page.getByText(/examples deleted\./).waitFor();
    expect(await page.locator('#rows').innerText()).toContain('/shop');
    expect(await page.locator('#rows').innerText()).not.toContain('Orders API');
  });
});
