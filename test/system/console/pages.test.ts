import naughtyStrings from 'big-list-of-naughty-strings' with { type: 'json' };
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage, seededFailures } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';

// One service and one browser for all pages: the tests view the data of the first hook.
let stage: ConsoleStage;
const hostileNames = [
  '"><script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  "'-alert(3)-'",
  '<svg/onload=alert(4)>',
  'javascript:alert(5)',
  '</title><script>alert(6)</script>',
  '{{constructor.constructor("alert(7)")()}}',
  '<a href="javascript:alert(8)">x</a>',
];

beforeAll(async () => {
  stage = await ConsoleStage.open();
  await stage.addCheck('healthy', { tags: ['shop'] });
  await stage.addCheck('slow but up', { tags: ['shop'] });
  for (const [name] of seededFailures) await stage.addCheck(name);
  for (const name of hostileNames) await stage.addCheck(name, { tags: ['<b>tag</b>'] });
  await stage.addCheck('nobody there', { privateLocations: ['empty'] });
  const hostile = [...hostileNames, ...naughtyStrings.filter((text) => text.includes('<'))].join('\n');
  for (let round = 0; round < 3; round += 1) {
    await stage.runOnce((name) => {
      if (name === 'healthy') return { detail: httpDetail(), responseTimeMs: 50 };
      if (name === 'slow but up') return { detail: httpDetail(), isDegraded: true, responseTimeMs: 4_200 };
      const seeded = seededFailures.find(([one]) => one === name);
      if (seeded) return { failure: seeded[1], detail: httpDetail({ status: 503 }) };
      return {
        failure: failure('ASSERTION_FAILED', hostile.slice(0, 4_000)),
        detail: httpDetail({ text: hostile, status: 500 }),
      };
    });
  }
});
afterAll(() => stage?.close());

/** The path of a check's first run. */
async function runHref(name: string): Promise<string> {
  const id = stage.checks.get(name);
  const { body } = await stage.harness.call('GET', `/v1/check-results/${id}?limit=100`);
  return `/checks/${id}/runs/${body.at(-1).id}`;
}

it('logging in by a link or by a key leads on, and wrong keys are reported', async () => {
  const { body } = await stage.harness.call('POST', '/login/links');
  const context = await stage.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stage.url}${body.path}`);
  expect(page.url()).toBe(`${stage.url}/`);
  expect(await page.locator('h1').innerText()).toMatch(/failing/);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('API key').fill('ak_mistyped');
  await page.getByRole('button', { name: 'Log in' }).click();
  expect(await page.locator('.error').innerText()).toContain('API key does not exist');
  expect(await page.getByLabel('API key').getAttribute('aria-invalid')).toBe('true');
  await expectNothingForAxe(page, 'a refused login');
  await page.getByLabel('API key').fill(stage.harness.key);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${stage.url}/`);
  await context.close();
});

describe('from the overview', () => {
  it('each failure is explained within two clicks, in words, with its owner', async () => {
    await using window = await stage.visit();
    const { page } = window;
    for (const [name, , words, owner] of seededFailures) {
      await window.go('/');
      const row = page.locator('tr.check', { has: page.getByRole('link', { name, exact: true }) });
      expect(await row.locator('.cause').innerText(), name).toMatch(words);
      // The second path to the run: the last bar, which is the failed run.
      await row.locator('.bars a').last().click();
      expect(await page.locator('.verdict').innerText(), name).toMatch(words);
      expect(await page.locator('.verdict').innerText(), name).toContain(owner);
    }
    expect(window.complaints).toEqual([]);
  });

  it('an unmeasured run is a grey gap, with its reason behind it', async () => {
    await using window = await stage.visit();
    const { page } = window;
    const row = page.locator('tr.check', { has: page.getByRole('link', { name: 'nobody there' }) });
    expect(await row.locator('.state').innerText()).not.toContain('Passing');
    expect(await row.locator('.bar-passed').count()).toBe(0);
    await row.locator('.bars a').first().click();
    expect(await page.locator('.verdict').innerText()).toMatch(/not measured[\s\S]*No agent of the location/);
  });

  it('search, filters and paging are in the URL, and work without scripts', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await page.fill('#search', 'HEALTHY');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(new URL(page.url()).searchParams.get('q')).toBe('HEALTHY');
    await expect.poll(() => page.locator('tr.check').count()).toBe(1);
    await page.getByRole('link', { name: 'healthy', exact: true }).click();
    expect(await page.locator('h1').innerText()).toBe('healthy');
    await page.locator('.lane-main a').last().click();
    expect(await page.locator('.verdict').innerText()).toContain('Passed in');
    await page.getByRole('button', { name: 'Dark' }).click();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.getByRole('button', { name: 'Log out' }).click();
    await window.go('/');
    expect(page.url()).toContain('/login');
  });

  it('the keyboard reaches the content, a failure and its cause', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    for (let stops = 0; stops < 40; stops += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement?.closest('.cause') !== null`)) break;
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\//);
    expect(await page.locator('.verdict h1').count()).toBe(1);
  });

  it('shows new results without a reload', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/');
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
    await page.fill('#search', 'healthy');
    await page.waitForURL(/[?&]q=healthy/);
    await expect.poll(() => page.locator('tr.check').count()).toBe(1);
    await page.locator('tr.check .coverage', { hasText: 'measured' }).first().waitFor();
    await stage.runOnce((name) =>
      name === 'healthy' ? { failure: failure('CONNECTION_REFUSED', 'connect ECONNREFUSED') } : {},
    );
    await page.locator('tr.check .cause', { hasText: 'refused the connection' }).waitFor();
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
    expect(window.complaints).toEqual([]);
  });
});

it('groups are folded when all their checks pass', async () => {
  const { body: group } = await stage.harness.call('POST', '/v1/check-groups', { name: 'Shop <i>' });
  await stage.harness.call('PUT', `/v1/checks/${stage.checks.get('healthy')}`, { groupId: group.id });
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/?q=healthy');
  await page.getByRole('link', { name: 'By group' }).click();
  const summary = page.locator('summary', { hasText: 'Shop <i>' });
  expect(await summary.innerText()).toContain('1 check: 1 ');
  expect(new URL(page.url()).searchParams.get('q')).toBe('healthy');
  await page.getByRole('link', { name: 'Clear' }).click();
  await window.go('/?by=group');
  const others = page.locator('.check-group', { hasText: 'In no group' });
  expect(await others.getAttribute('open')).not.toBeNull();
  await page.getByRole('link', { name: 'Single list' }).click();
  expect(await page.locator('.check-group').count()).toBe(0);
  expect(window.complaints).toEqual([]);
});

it('on a narrow screen the pages are in a menu, which needs no script', async () => {
  await using window = await stage.visit({
    javaScriptEnabled: false,
    viewport: { width: 360, height: 740 },
  });
  const { page } = window;
  const alerts = page.getByRole('link', { name: 'Alerts', exact: true });
  expect(await alerts.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await alerts.click();
  await page.waitForURL(/\/alerts$/);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(/\/login/);
});

describe('every page', () => {
  it('has no axe violations in light and dark, fits 320 pixels, and sends no requests elsewhere', {
    timeout: 240_000,
  }, async () => {
    const paths = [
      '/',
      '/?q=nothing-is-called-so',
      `/checks/${stage.checks.get('healthy')}`,
      `/checks/${stage.checks.get('503')}?range=24h`,
      `/checks/${stage.checks.get('nobody there')}`,
      await runHref('slow but up'),
      await runHref('503'),
      await runHref(hostileNames[0] ?? ''),
      '/no-such-page',
    ];
    for (const colorScheme of ['light', 'dark'] as const) {
      await using window = await stage.visit({ colorScheme });
      for (const path of sampleOf(paths, 5)) {
        await window.go(path);
        const isOnlyColours = colorScheme === 'dark';
        await expectNothingForAxe(window.page, `${path} ${colorScheme}`, { isOnlyColours });
        if (colorScheme === 'light') await expectNarrowEnough(window.page, path);
      }
      expect(window.complaints).toEqual([]);
    }
  });

  it('shows hostile text as text: no script of it runs', async () => {
    await using window = await stage.visit();
    const { page } = window;
    for (const name of hostileNames) {
      await window.go(`/checks/${stage.checks.get(name)}`);
      expect(await page.locator('h1').innerText()).toBe(name);
      await window.go(await runHref(name));
      await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`);
      expect(await page.locator('pre').first().innerText()).toContain('<script>alert(1)</script>');
      expect(
        await page.locator('main script, main img, main iframe, main [onload], main [onerror]').count(),
      ).toBe(0);
    }
    await window.go('/');
    expect(await page.locator('main script, main img, main [onerror]').count()).toBe(0);
    expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
    expect(window.complaints).toEqual([]);
  });

  it('shows files of scripts and targets in a sandbox, whole or in part', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const files = [
      artifactOf(png, { name: 'after/login.png' }),
      artifactOf(Buffer.from('<script>alert(9)</script>'), { name: 'report.html', contentType: 'text/html' }),
      artifactOf(Buffer.from(' 1  192.0.2.1  1.2 ms\n<b>last</b>'), {
        name: 'traceroute.txt',
        contentType: 'text/plain',
      }),
    ];
    let leased: LeasedRun | undefined;
    await stage.runOnce((name, run) => {
      if (name !== 'healthy') return {};
      leased = run;
      return { artifacts: files.map(({ reported }) => reported) };
    });
    if (!leased) throw new Error('the check did not run');
    for (const { bytes, reported } of files) {
      const { status } = await upload({
        url: stage.url,
        key: stage.location.key,
        run: leased,
        name: reported.name,
        bytes,
      });
      expect(status).toBe(200);
    }
    await using window = await stage.visit();
    const { page } = window;
    const run = `/checks/${stage.checks.get('healthy')}/runs/${leased.resultId}`;
    await window.go(run);
    expect(await page.locator('#route pre').innerText()).toContain('<b>last</b>');
    const shot = page.getByRole('img', { name: 'after/login.png' });
    await shot.scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate(`document.querySelector('.shots img')?.naturalWidth`)).toBe(1);
    const report = await page.request.get(`${stage.url}${run}/files/report.html`, {
      headers: { range: 'bytes=0-6' },
    });
    expect([report.status(), await report.text()]).toEqual([206, '<script']);
    expect(report.headers()).toMatchObject({
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': expect.stringContaining('attachment'),
      'x-content-type-options': 'nosniff',
    });
    expect(window.complaints).toEqual([]);
  });
});
