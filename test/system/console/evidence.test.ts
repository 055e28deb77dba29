import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage, seededFailures } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import { artifactOf, type TestArtifact, upload } from '../../helpers/service/artifact-upload.ts';
import { reportOf, temporaryFolder } from '../../helpers/service/service.ts';

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const file = (name: string, contentType: string, bytes: Buffer | string) =>
  artifactOf(Buffer.from(bytes), { name, contentType });
/** One error of several lines, as Playwright reports them. */
const wholeError = `Error: expect(locator).toHaveText(expected) failed ${'x'.repeat(250)}\n\n  - Expected: "Paid"\n  + <b>Received</b>: "Unpaid"\n    at pay.spec.ts:12:5`;

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await ConsoleStage.open({ artifactsHost: 'files.localhost' });
  const trace = await recordedTrace();
  const shots = ['screenshots/cart.png', 'screenshots/paid.png'].map((name) => file(name, 'image/png', dot));
  const evidence = [
    file('network.pcap', 'application/vnd.tcpdump.pcap', 'captured'),
    file('traceroute.txt', 'text/plain', ' 1  192.0.2.1  1.2 ms\nthe target responded at hop 1'),
    file('traces/buys.zip', 'application/zip', trace),
  ];
  await stage.addCheck('script');
  for (const [name] of seededFailures) await stage.addCheck(name);
  await runWithFiles((name) => (name === 'script' ? { files: shots.slice(0, 1) } : { files: [] }));
  const [, id] = [...stage.checks][0] ?? [];
  stage.clock.advance(5_000);
  await stage.harness.call('PUT', `/v1/checks/${id}`, { maxResponseTime: 9_000 });
  await runWithFiles((name) => {
    if (name === 'script') {
      return { files: [...shots, ...evidence], failed: failure('SCRIPT_FAILED', wholeError) };
    }
    return { files: evidence, failed: seededFailures.find(([one]) => one === name)?.[1] };
  });
});
afterAll(() => stage?.close());

/** A trace that Playwright itself recorded. */
async function recordedTrace(): Promise<Buffer> {
  const folder = temporaryFolder();
  const context = await stage.browser.newContext();
  await context.tracing.start({ snapshots: true, screenshots: true });
  const page = await context.newPage();
  await page.setContent('<h1>The shop is open</h1>');
  const path = join(folder.path, 'trace.zip');
  await context.tracing.stop({ path });
  await context.close();
  const bytes = readFileSync(path);
  folder.remove();
  return bytes;
}

/** Lets every check run once, and uploads its files. */
async function runWithFiles(
  outcomeOf: (name: string) => {
    readonly files: readonly TestArtifact[];
    readonly failed?: ReturnType<typeof failure> | undefined;
  },
): Promise<void> {
  const uploads: { readonly run: LeasedRun; readonly files: readonly TestArtifact[] }[] = [];
  await stage.runOnce((name, run) => {
    const { files, failed } = outcomeOf(name);
    uploads.push({ run, files });
    const detail = httpDetail(failed ? { text: 'lost', status: 503 } : { text: 'fine' });
    const time = Date.UTC(2026, 10, 22);
    detail.jobLog?.request.push({ time, msg: 'late', level: 'WARN' }, { time, msg: 'gone', level: 'ERROR' });
    return {
      detail,
      artifacts: files.map(({ reported }) => reported),
      ...(failed ? { failure: failed } : {}),
    };
  });
  for (const { run, files } of uploads) {
    for (const { bytes, reported } of files) {
      const sent = { url: stage.url, key: stage.location.key, run, name: reported.name, bytes };
      expect(await upload(sent)).toMatchObject({ status: 200 });
    }
  }
}

/** The path of a check's last run. */
async function lastRun(name: string): Promise<string> {
  const id = stage.checks.get(name);
  const { body } = await stage.harness.call('GET', `/v1/check-results/${id}?limit=1`);
  return `/checks/${id}/runs/${body[0].id}`;
}

describe('from the overview', () => {
  it('each seeded failure is explained one click away, and its evidence two', async () => {
    await using window = await stage.visit();
    const { page } = window;
    let clicks = 0;
    const click = async (link: Locator) => {
      clicks += 1;
      await link.click();
    };
    const evidence = page.getByRole('navigation', { name: 'Evidence' });
    for (const [name, , words, owner] of sampleOf(seededFailures, 1)) {
      /** One click from the overview to the run. */
      const toRun = async () => {
        await window.go('/');
        clicks = 0;
        const links = page.locator(`main a[href^="/checks/${stage.checks.get(name)}/runs/"]`);
        await click(links.filter({ hasText: words }).first());
        await page.waitForURL(/\/runs\//);
      };
      await toRun();
      expect(await page.locator('.verdict').innerText(), name).toMatch(words);
      expect(await page.locator('.verdict').innerText(), name).toContain(owner);
      expect(clicks).toBe(1);
      await click(evidence.getByRole('link', { name: 'Certificate' }));
      await page.locator('#certificate:target').getByText('Issued by').waitFor();
      expect(clicks, name).toBe(2);

      await toRun();
      await click(evidence.getByRole('link', { name: 'Route' }));
      expect(await page.locator('#route:target pre').innerText()).toContain('192.0.2.1');
      expect(clicks, name).toBe(2);

      await toRun();
      const download = page.waitForEvent('download');
      await click(evidence.getByRole('link', { name: 'Capture' }));
      expect((await download).suggestedFilename()).toBe('network.pcap');
      expect(clicks, name).toBe(2);

      await toRun();
      const opened = page.context().waitForEvent('page');
      await click(evidence.getByRole('link', { name: 'Trace' }));
      const viewer = await opened;
      expect(new URL(viewer.url()).pathname).toBe('/trace-viewer/index.html');
      await viewer.close();
      expect(clicks, name).toBe(2);
    }
  });
});

describe('the page of a failed script', () => {
  it('has the first line of the error as its heading, and the rest folded with a copy', async () => {
    await using window = await stage.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = window;
    await window.go(await lastRun('script'));
    const heading = await page.locator('h1').innerText();
    expect(heading).toMatch(/^Error: expect\(locator\)\.toHaveText\(expected\) failed x+…$/);
    expect([...heading]).toHaveLength(200);
    const whole = page.locator('.whole-error pre');
    expect(await whole.isVisible()).toBe(false);
    await page.getByText('Whole error', { exact: true }).click();
    expect(await whole.innerText()).toContain('<b>Received</b>');
    await page.getByRole('button', { name: 'Copy the whole error' }).click();
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(copied).toBe(wholeError);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await expect
      .poll(copied)
      .toMatch(/^curl -X GET 'http:\/\/target\.test\/' -H 'Accept: lost' --data-raw 'lost'$/);
    expect(window.complaints).toEqual([]);
  });

  it('shows screenshots next to those of the last pass, with the time of each', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go(await lastRun('script'));
    await page
      .getByRole('navigation', { name: 'Evidence' })
      .getByRole('link', { name: 'Screenshots' })
      .click();
    const pairs = page.locator('.shot-pairs > li');
    expect(await pairs.count()).toBe(2);
    expect(await pairs.first().locator('time').count()).toBe(2);
    const images = await pairs.first().locator('img').all();
    const sources = await Promise.all(images.map(async (image) => (await image.getAttribute('src')) ?? ''));
    expect(new Set(sources).size).toBe(2);
    expect(sources.every((source) => source.endsWith('/screenshots/cart.png'))).toBe(true);
    expect(await pairs.nth(1).innerText()).toContain('No screenshot of this step');
    await expect
      .poll(() =>
        page.evaluate(`[...document.querySelectorAll('.shot-pairs img')].map((one) => one.naturalWidth)`),
      )
      .toEqual([1, 1, 1]);
    expect(window.complaints).toEqual([]);
  });

  it('shows what changed since the last pass, with the author of a change', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    await window.go(await lastRun('script'));
    const changes = await window.page.locator('#changes').innerText();
    expect(changes).toMatch(/Response\s*200 fine\s*→?\s*503 lost/);
    expect(changes).toMatch(/Definition[\s\S]*maxResponseTime by test/);
    await window.page.getByRole('link', { name: 'Compare with the last pass' }).click();
    expect(await window.page.locator('h1').innerText()).toBe('Comparison');
  });

  it('filters its log by level, and has no filter without scripts', async () => {
    await using window = await stage.visit();
    await window.go(await lastRun('script'));
    const { page } = window;
    const shown = () => page.locator('#log-lines li:visible').count();
    expect(await page.locator('.log-filter').count()).toBe(1);
    expect(await shown()).toBe(3);
    await page.getByRole('button', { name: 'Warnings 2' }).click();
    expect(await shown()).toBe(2);
    await page.getByRole('button', { name: 'Errors 1' }).click();
    expect(await shown()).toBe(1);
    await page.getByRole('button', { name: 'All 3' }).click();
    expect(await shown()).toBe(3);
    await using bare = await stage.visit({ javaScriptEnabled: false });
    await bare.go(await lastRun('script'));
    expect(await bare.page.locator('.log-filter').isVisible()).toBe(false);
    expect(window.complaints).toEqual([]);
  });

  it('is accessible in both colours, and fits 320 pixels', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using window = await stage.visit({ colorScheme });
      const path = await lastRun('script');
      await window.go(path);
      await window.page.evaluate(
        `for (const one of document.querySelectorAll('main details')) one.open = true`,
      );
      await expectNothingForAxe(window.page, `${path} ${colorScheme}`);
      await expectNarrowEnough(window.page, path);
    }
  });
});

it('a run that was just started shows its progress and its log as they arrive, without a reload', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go(await lastRun('503'));
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.waitForURL(/\/sessions\/checks\//);
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  const now = page.locator('.stages [aria-current]');
  await now.filter({ hasText: 'Queued' }).waitFor();
  await expectNothingForAxe(page, 'a queued run');
  const runs = await stage.agent.claim({ checkTypes: ['API', 'URL'] });
  await now.filter({ hasText: 'Running' }).waitFor();
  await stage.agent.report(runs.map((run) => reportOf(run, { detail: httpDetail({ text: 'it is fine' }) })));
  await page.locator('.log', { hasText: 'it is fine' }).waitFor();
  expect(await page.locator('.lead .state-passed').count()).toBe(1);
  expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
  await expectNothingForAxe(page, 'a finished run');
  await expectNarrowEnough(page, 'a finished run');
  await page.getByRole('link', { name: 'Open the run' }).click();
  expect(await page.locator('.verdict').innerText()).toContain('Passed in');
  expect(window.complaints).toEqual([]);
});

it('what a reader has opened and chosen stays while the page updates', async () => {
  const late = file('late.bin', 'application/octet-stream', 'on its way');
  let leased: LeasedRun | undefined;
  await stage.runOnce((name, run) => {
    if (name === '503') leased = run;
    const detail = httpDetail();
    detail.jobLog?.request.push({ time: Date.UTC(2026, 10, 22), msg: 'gone', level: 'ERROR' });
    return { detail, artifacts: name === '503' ? [late.reported] : [] };
  });
  if (!leased) throw new Error('the check did not run');
  await using window = await stage.visit();
  const { page } = window;
  await window.go(await lastRun('503'));
  await page.getByText('Timeline of this run').click();
  await page.getByRole('button', { name: 'Errors 1' }).click();
  for (let updates = 0; updates < 2; updates += 1) await page.waitForResponse(/\/runs\//);
  await page.getByText('1 file not stored yet').waitFor();
  const sent = { url: stage.url, key: stage.location.key, run: leased, name: late.reported.name };
  expect(await upload({ ...sent, bytes: late.bytes })).toMatchObject({ status: 200 });
  await page.locator('#files a', { hasText: 'late.bin' }).waitFor();
  expect(await page.getByText('Lease to probe').isVisible()).toBe(true);
  expect(await page.locator('#log-lines li:visible').count()).toBe(1);
  expect(window.complaints).toEqual([]);
});
