import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';

let stage: ConsoleStage;

beforeAll(async () => {
  stage = await ConsoleStage.open();
  await stage.addCheck('healthy');
  for (let round = 0; round < 4; round += 1) {
    await stage.runOnce(() => ({ detail: httpDetail(), responseTimeMs: 50 }));
  }
});
afterAll(() => stage?.close());

describe('the chart of a check', () => {
  const outcome = /passed in [\d.]+ m?s/;
  const path = () => `/checks/${stage.checks.get('healthy')}`;
  /** The displayed range, in milliseconds. */
  const rangeOf = (address: string) => {
    const { searchParams } = new URL(address);
    return ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '')) as [number, number];
  };

  it('shows a range that is selected by pointer or by keys', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go(path());
    const chart = page.locator('.chart');
    const box = await chart.locator('.chart-front').boundingBox();
    if (!box) throw new Error('there is no chart');
    const [start = 0, end = 0] = await Promise.all(
      ['data-from', 'data-to'].map(async (name) => Number(await chart.getAttribute(name))),
    );
    const lengthMs = end - start;
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/[?&]from=/);
    const [from, to] = rangeOf(page.url());
    expect((from - start) / lengthMs).toBeCloseTo(0.5, 2);
    expect((to - from) / lengthMs).toBeCloseTo(0.25, 2);

    await window.go(path());
    await chart.focus();
    for (const key of ['ArrowLeft', 'Shift+ArrowLeft', 'Shift+ArrowLeft', 'Enter'])
      await page.keyboard.press(key);
    await page.waitForURL(/[?&]from=/);
    const [byKeys, last] = rangeOf(page.url());
    // Three runs of one minute: the present cuts the last one.
    expect((last - byKeys) / 60_000).toBeGreaterThan(2);
    expect((last - byKeys) / 60_000).toBeLessThanOrEqual(3);
    expect(window.complaints).toEqual([]);
  });

  it('names everything under the cursor, and Enter opens the run', async () => {
    await using window = await stage.visit({ timezoneId: 'Asia/Kolkata' });
    const { page } = window;
    await window.go(`${path()}?range=1h`);
    const run = page.locator('.lane-main a.item').last();
    const box = await run.boundingBox();
    if (!box) throw new Error('there is no run');
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.locator('.chart-tip');
    const at = Number(await run.getAttribute('data-at'));
    expect(await tip.locator('b').innerText()).toContain(
      new Date(at + 5.5 * 3_600_000).toISOString().slice(11, 16),
    );
    expect(await tip.innerText()).toMatch(/p95 [\d.]+ m?s[\s\S]*passed in [\d.]+ m?s/);
    const label = page.locator('.tick-labels text').first();
    const [from = 0, to = 0] = await Promise.all(
      ['data-from', 'data-to'].map(async (name) => Number(await page.locator('.chart').getAttribute(name))),
    );
    const labelled = from + (Number.parseFloat((await label.getAttribute('x')) ?? '') / 100) * (to - from);
    expect(new Date(labelled + 5.5 * 3_600_000).toISOString().slice(11, 16)).toBe(await label.textContent());
    await page.mouse.move(5, 5);
    expect(await tip.isHidden()).toBe(true);
    await page.locator('.chart').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowRight');
    expect(await tip.innerText()).toMatch(outcome);
    await page.keyboard.press('Escape');
    expect(await tip.isHidden()).toBe(true);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\//);
    expect(await page.locator('.verdict h1').count()).toBe(1);
    expect(window.complaints).toEqual([]);
  });

  it('is read without scrolling on a phone, where a tap names the run instead of opening it', async () => {
    await using window = await stage.visit({ hasTouch: true, viewport: { width: 360, height: 740 } });
    const { page } = window;
    await window.go(`${path()}?range=1h`);
    const box = await page.locator('.lane-main a.item').last().boundingBox();
    if (!box) throw new Error('there is no run');
    await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    await page.locator('.chart-tip a', { hasText: outcome }).click();
    await page.waitForURL(/\/runs\//);
    expect(window.complaints).toEqual([]);
  });

  it('accepts a range from a form without scripts', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go(path());
    await page.getByText('Other range').click();
    await page.fill('[name=from]', '2026-11-22T11:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(new URL(page.url()).searchParams.get('from')).toBe('2026-11-22T11:00');
    expect(await page.locator('.ranges').first().innerText()).toContain('2026-11-22 11:00:00 UTC');
    await page.getByRole('link', { name: 'Earlier' }).click();
    expect(await page.locator('.ranges').first().innerText()).toContain('to 2026-11-22 11:00:00 UTC');
  });

  it('accepts a range in the zone of the reader', async () => {
    await using window = await stage.visit({ timezoneId: 'Asia/Kolkata' });
    const { page } = window;
    await window.go(path());
    await page.getByText('Other range').click();
    await page.fill('[name=from]', '2026-11-22T16:30');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/[?&]from=/);
    expect(rangeOf(page.url())[0]).toBe(Date.UTC(2026, 10, 22, 11));
    expect(await page.locator('.ranges').first().innerText()).toContain('22 Nov 2026, 16:30:00');
    expect(await page.locator('[name=from]').inputValue()).toBe('2026-11-22T16:30');
    expect(window.complaints).toEqual([]);
  });

  it('is muted, paused and cloned from one menu', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go(path());
    await page.getByLabel('Actions: healthy').click();
    await page.getByRole('button', { name: 'Mute alerts' }).click();
    await page.locator('.toast', { hasText: 'Muted' }).waitFor();
    expect(await page.locator('.check-line').innerText()).toContain('muted');
    await page.getByLabel('Actions: healthy').click();
    await page.getByRole('button', { name: 'Unmute' }).click();
    await page.locator('.toast', { hasText: 'Unmuted' }).waitFor();
    await page.getByLabel('Actions: healthy').click();
    await page.getByRole('link', { name: 'Clone' }).click();
    await page.waitForURL(/\/checks\/new\?from=/);
    expect(window.complaints).toEqual([]);
  });
});
