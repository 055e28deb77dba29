import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await ConsoleStage.open();
});
afterAll(() => stage.close());

it.each([
  ['with a clipboard', ''],
  ['on origins without TLS, which get no clipboard', 'delete Navigator.prototype.clipboard'],
])('copies ids %s', async (_name, before) => {
  await using window = await stage.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  const { page } = window;
  await page.addInitScript({ content: before });
  await window.go('/account/usage');
  await page.getByRole('button', { name: 'Copy the id of the account' }).click();
  await page.getByRole('status').filter({ hasText: 'Copied.' }).waitFor();
  await window.go('/account/keys');
  const field = page.getByLabel('Name');
  await field.focus();
  await page.keyboard.press('Control+V');
  expect(await field.inputValue()).toBe(stage.harness.accountId);
  expect(window.complaints).toEqual([]);
});

it("shows times in the reader's zone, and both zones on request", async () => {
  await using window = await stage.visit({ timezoneId: 'Asia/Tokyo' });
  await window.go('/account/keys');
  const { page } = window;
  const created = page.locator('time:not([data-ago])').first();
  expect(await created.textContent()).toBe('22 Nov 2026, 21:00:00');
  expect(await created.getAttribute('title')).toBe('2026-11-22 12:00:00 UTC');
  const used = page.locator('time[data-ago]').first();
  expect(await used.textContent()).toMatch(/just now|ago/);
  expect(await used.getAttribute('title')).toMatch(
    /^22 Nov 2026, 21:\d\d:\d\d \(2026-11-22 12:\d\d:\d\d UTC\)$/,
  );
});

it('shows the result of a form for some seconds', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/pages/services');
  await page.clock.install();
  await page.getByLabel('New service').fill('Shop');
  await page.getByRole('button', { name: 'Create service' }).click();
  const message = page.getByRole('status').filter({ hasText: 'Service created.' });
  await message.waitFor();
  await page.clock.runFor(7_000);
  await message.waitFor({ state: 'detached' });
  expect(window.complaints).toEqual([]);
});
