import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';

const hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>';
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await ConsoleStage.open();
  await stage.addCheck('shop', { tags: ['shop'] });
  for (const name of ['Shop', hostile]) {
    await stage.harness.call('POST', '/v1/status-pages/services', { name });
  }
});
afterAll(() => stage?.close());

it('a status page is previewed before it is saved, and changes with the form', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/pages/status/new');
  const preview = page.frameLocator('iframe[name=preview]');
  await preview.getByText('Not a page yet').waitFor();
  await page.fill('[name=name]', `Acme ${hostile}`);
  await page.fill('[name=url]', 'acme');
  await preview.locator('.public-name', { hasText: 'Acme' }).waitFor();
  await page.getByLabel('Services, service 1', { exact: true }).selectOption({ label: 'Shop' });
  await preview.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
  // Edited without leaving the page: the input is kept.
  await page.getByRole('button', { name: 'Add a card' }).click();
  await page.locator('[name="cards.1.name"]').fill('Second');
  await page.getByRole('button', { name: 'Move card 2 up' }).click();
  await expect.poll(() => page.locator('[name="cards.0.name"]').inputValue()).toBe('Second');
  expect(await page.locator('[name=name]').inputValue()).toContain('Acme');
  await preview.getByRole('heading', { name: 'Second' }).waitFor();
  await page.getByText('Looks', { exact: true }).click();
  await page.getByLabel('Custom colours').check();
  await page.locator('[name="themeColors.light.bodyBackgroundColor"]').fill('#ff8800');
  await expect
    .poll(() => preview.locator('body').evaluate('getComputedStyle(document.body).backgroundColor'))
    .toBe('rgb(255, 136, 0)');
  expect((await stage.harness.call('GET', '/v1/public/status-pages/acme')).status).toBe(404);
  await page.getByRole('button', { name: 'Create the page' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('link', { name: 'Open it' }).click();
  expect(await page.locator('.public-name').innerText()).toContain('Acme');
  await expect
    .poll(() => page.evaluate('getComputedStyle(document.body).backgroundColor'))
    .toBe('rgb(255, 136, 0)');
  expect(window.complaints).toEqual([]);
});

it('a window shows its next occurrence and its effects while it is edited', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/pages/maintenance/new');
  await page.fill('[name=name]', 'Disks');
  await page.fill('[name=tags]', 'shop');
  await page.fill('[name=timezone]', 'Europe/Berlin');
  await page.fill('[name=startsAt]', '2026-12-01T08:00');
  await page.fill('[name=endsAt]', '2026-12-01T10:00');
  await page.locator('#preview').getByText('08:00 Europe/Berlin').first().waitFor();
  await page.locator('#preview').getByRole('link', { name: 'shop' }).waitFor();
  await page.getByRole('button', { name: 'Create the window' }).click();
  await page.waitForURL(/\/pages\/maintenance\/\d+$/);
  expect(await page.locator('h1').innerText()).toBe('Disks');
  expect(window.complaints).toEqual([]);
});

it('without scripts a page and an incident are published, by the keyboard', async () => {
  await using window = await stage.visit({ javaScriptEnabled: false });
  const { page } = window;
  await window.go('/pages/status/new');
  await page.fill('[name=name]', 'Plain');
  await page.fill('[name=url]', 'plain');
  await page.getByLabel('Services, service 1', { exact: true }).selectOption({ label: 'Shop' });
  await page.getByRole('button', { name: 'Preview' }).click();
  await page
    .frameLocator('iframe[name=preview]')
    .getByRole('heading', { name: 'Shop', exact: true })
    .waitFor();
  await page.locator('[name=url]').press('Enter');
  await page.getByText('Saved.').waitFor();
  await window.go('/pages/incidents/new');
  await page.getByLabel('Title').fill(hostile);
  await page.getByLabel('Shop').check();
  await page.getByLabel('Message').fill(hostile);
  await page.getByRole('button', { name: 'Publish incident' }).press('Enter');
  await page.waitForURL(/\/pages\/incidents\/[0-9a-f-]+$/);
  await window.go('/status/plain');
  expect(await page.locator('.notice-card h3').innerText()).toBe(hostile);
  expect(window.complaints).toEqual([]);
});
