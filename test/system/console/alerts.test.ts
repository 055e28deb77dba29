import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { startHttpReceiver } from '../../helpers/service/alert-receivers.ts';
import { until } from '../../helpers/service/service.ts';
import { urlDetail } from '../../helpers/service/url-detail.ts';

let stage: ConsoleStage;
let receiver: Awaited<ReturnType<typeof startHttpReceiver>>;
const together = ['cart', 'till', 'stock'];

/** Three checks of one host fail together, one fails alone, one is slow, one passes. */
beforeAll(async () => {
  stage = await ConsoleStage.open();
  receiver = await startHttpReceiver();
  const { harness, clock } = stage;
  const config = { name: 'ops', url: `${receiver.url}/ops`, template: '{{ALERT_TITLE}}' };
  const flags = { autoSubscribe: true, sendDegraded: true };
  await harness.call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config, ...flags });
  harness.startAlerting();
  for (const name of together) {
    await stage.addCheck(name, { request: { url: 'https://shop.test/' }, tags: ['shop'] });
  }
  await stage.addCheck('alone', { request: { url: 'https://alone.test/' } });
  await stage.addCheck('slow', { request: { url: 'https://slow.test/' } });
  await stage.addCheck('fine', { request: { url: 'https://fine.test/' } });
  for (let round = 0; round < 2; round += 1) {
    await stage.runOnce((name) => {
      if (round === 0 || name === 'fine') return { detail: httpDetail() };
      if (name === 'slow') return { detail: httpDetail(), isDegraded: true, responseTimeMs: 4_200 };
      const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 192.0.2.7:443');
      if (together.includes(name))
        return { failure: refused, detail: urlDetail('https://shop.test/', '192.0.2.7') };
      return { failure: failure('NAME_NOT_FOUND', 'getaddrinfo ENOTFOUND alone.test') };
    });
  }
  await until('all are notified', async () => {
    const { body: log } = await harness.call('GET', '/v1/alert-notifications?limit=100');
    clock.advance(1_000);
    return log.length >= 3 && log.every(({ status }: { status: string }) => status !== 'IN_PROGRESS') && log;
  });
});
afterAll(async () => {
  await stage?.close();
  await receiver?.[Symbol.asyncDispose]();
});

it('lists one row for each cause, folds its checks, and is dense', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/alerts');
  const rows = page.locator('.alert');
  expect(await rows.count()).toBe(3);
  const cause = rows.filter({ hasText: '3 checks' });
  const first = cause.locator('tr').first();
  const members = cause.locator('.alert-member');
  expect(await members.first().isVisible()).toBe(false);
  const toggle = cause.getByRole('button', { name: /^3 checks of/ });
  await toggle.focus();
  await page.keyboard.press('Enter');
  expect(await members.first().isVisible()).toBe(true);
  expect(await members.allInnerTexts()).toEqual(together.map(() => expect.stringMatching(/joined .* ago/)));
  for (const row of await page.locator('.alert > tr:first-child').all()) {
    const box = await row.boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(36);
    expect(box?.height).toBeLessThanOrEqual(44);
  }
  expect(await first.innerText()).toMatch(/ops/);
  await expectNothingForAxe(page, 'alerts');
  expect(window.complaints).toEqual([]);
});

it('acknowledges, silences and mutes from one menu, by keyboard, with a message', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/alerts');
  const menu = () => page.locator('.alert').filter({ hasText: 'alone' }).locator('.menu').first();
  const open = async () => {
    await menu().locator('summary').first().focus();
    await page.keyboard.press('Enter');
  };
  await open();
  expect(await menu().getByRole('link').allInnerTexts()).toEqual([
    'Notifications',
    'Open the run',
    'Open the check',
  ]);
  await menu().getByText('Acknowledge…').press('Enter');
  await menu().getByLabel('Reason (visible to others)').first().fill('on it');
  await page.keyboard.press('Enter');
  await page.locator('.toast').waitFor();
  expect(await page.locator('.toast').innerText()).toBe('alone: acknowledged.');
  expect(await page.locator('.alert').filter({ hasText: 'alone' }).innerText()).toContain(
    'acknowledged by test',
  );
  await open();
  await menu().getByText('Silence…').press('Enter');
  await menu().getByRole('button', { name: '4 hours' }).press('Enter');
  await page.locator('.toast', { hasText: 'silenced for 4 hours' }).waitFor();
  await open();
  await page.keyboard.press('Escape');
  expect(await menu().getAttribute('open')).toBeNull();
  await open();
  await menu().getByRole('button', { name: 'Mute the check' }).press('Enter');
  await page.locator('.toast', { hasText: 'alone: muted.' }).waitFor();
  const id = stage.checks.get('alone');
  expect((await stage.harness.call('GET', `/v1/checks/${id}`)).body.muted).toBe(true);
  expect(window.complaints).toEqual([]);
});

it('shows who was notified, with the answer, and keeps filters in the address', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/alerts?tag=shop');
  expect(await page.locator('.alert').count()).toBe(1);
  await page.locator('.alert-name').click();
  await page.waitForURL(/\/alerts\/entries\/cause_/);
  const told = page.getByRole('region', { name: 'Notifications, newest first' });
  expect(await told.innerText()).toMatch(/Webhook ops[\s\S]*Arrived[\s\S]*status 200/);
  await expectNothingForAxe(page, 'an alert');
  await window.go('/alerts');
  await page.getByLabel('State').selectOption('acknowledged');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/state=acknowledged/);
  expect(await page.locator('.alert').count()).toBe(1);
  expect(window.complaints).toEqual([]);
});

it('has room on a phone, and looks dark where asked', async () => {
  await using window = await stage.visit({ viewport: { width: 360, height: 800 }, colorScheme: 'dark' });
  const { page } = window;
  for (const path of ['/alerts', '/alerts/channels', '/alerts/notifications']) {
    await window.go(path);
    await expectNarrowEnough(page, path);
    await expectNothingForAxe(page, path);
  }
  expect(window.complaints).toEqual([]);
});
