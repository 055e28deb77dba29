import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { sampleOf } from '../../helpers/night.ts';

let stage: ConsoleStage;
const names = Array.from({ length: 12 }, (_none, index) => `check ${String.fromCharCode(97 + index)}`);
const down = failure(
  'CONNECTION_REFUSED',
  'connect ECONNREFUSED 192.0.2.1:443, and a long explanation of it',
);

beforeAll(async () => {
  stage = await ConsoleStage.open();
  const { body: group } = await stage.harness.call('POST', '/v1/check-groups', { name: 'Shop' });
  for (const name of names)
    await stage.addCheck(name, { tags: ['shop', 'production', 'europe'], groupId: group.id });
  await stage.addCheck(
    'a check with a very long name that no column has room for, whatever its width may be',
  );
  await stage.addCheck('fails');
  for (let round = 0; round < 2; round += 1) await stage.runOnce(outcome());
});
afterAll(() => stage?.close());

/** Reports that "fails" and further checks fail, and that the rest passes. */
const outcome =
  (...failing: readonly string[]) =>
  (name: string) =>
    ['fails', ...failing].includes(name)
      ? { failure: down, detail: httpDetail({ status: 503 }) }
      : { detail: httpDetail(), responseTimeMs: 50 };
const row = (page: Page, name: string) =>
  page.locator('tr.check', { has: page.getByRole('link', { name, exact: true }) });
const box = (page: Page, name: string) => row(page, name).getByRole('checkbox');
const activated = async (name: string) =>
  (await stage.harness.call('GET', `/v1/checks/${stage.checks.get(name)}`)).body.activated;
const exists = async (id: string | undefined) =>
  (await stage.harness.call('GET', `/v1/checks/${id}`)).status === 200;

describe('the table', () => {
  it('has rows of 36 to 44 pixels, and of at most 72 on a phone', async () => {
    await using window = await stage.visit();
    const { page } = window;
    const heights = () =>
      page.evaluate<number[]>(
        `[...document.querySelectorAll('tr.check')].map((one) => one.getBoundingClientRect().height)`,
      );
    await window.go('/');
    for (const height of await heights()) expect(height).toBeGreaterThanOrEqual(36);
    for (const height of await heights()) expect(height).toBeLessThanOrEqual(44);
    await page.setViewportSize({ width: 360, height: 740 });
    for (const height of await heights()) expect(height).toBeLessThanOrEqual(72);
    expect(await row(page, 'fails').locator('.cause').isVisible()).toBe(true);
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of sampleOf(['/', '/?by=group', '/?sort=-name&tag=shop', '/search?q=check'], 2)) {
      await window.go(path);
      await expectNothingForAxe(page, path);
      await expectNarrowEnough(page, path);
    }
    expect(window.complaints).toEqual([]);
  });

  it('keeps the selection, the focus and the scroll position when results arrive', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await page.setViewportSize({ width: 1280, height: 400 });
    await window.go('/');
    await box(page, 'check c').check();
    await box(page, 'check k').check();
    await row(page, 'check d').getByRole('link', { name: 'check d' }).focus();
    await page.evaluate('scrollTo(0, 260)');
    const before = await row(page, 'check d').boundingBox();
    await stage.runOnce(outcome('check k'));
    // It becomes the second row, so that all others move.
    await row(page, 'check k').locator('.cause').waitFor();
    expect(await page.locator('tr.check input:checked').count()).toBe(2);
    expect(await box(page, 'check c').isChecked()).toBe(true);
    expect(await box(page, 'check k').isChecked()).toBe(true);
    expect(await page.locator('.bulk-count').innerText()).toBe('2 selected');
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('check d');
    const after = await row(page, 'check d').boundingBox();
    expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThanOrEqual(2);
    expect(window.complaints).toEqual([]);
  });

  it('remembers in the browser which groups are folded', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/?by=group');
    const summary = page.locator('summary', { hasText: 'In no group' });
    expect(await row(page, 'fails').isVisible()).toBe(true);
    await summary.click();
    expect(await row(page, 'fails').isVisible()).toBe(false);
    await window.go('/?by=group');
    expect(await row(page, 'fails').isVisible()).toBe(false);
    await summary.click();
    expect(await row(page, 'fails').isVisible()).toBe(true);
  });
});

describe('several checks', () => {
  it('are changed by a bar that appears with a selection', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/?tag=shop&sort=name');
    const bar = page.locator('#bulk');
    expect(await bar.isVisible()).toBe(false);
    await box(page, 'check a').click();
    await box(page, 'check d').click({ modifiers: ['Shift'] });
    expect(await page.locator('.bulk-count').innerText()).toBe('4 selected');
    await bar.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.locator('.toast', { hasText: '4 checks paused.' }).waitFor();
    expect(new URL(page.url()).search).toBe('?tag=shop&sort=name');
    expect(await activated('check d')).toBe(false);
    await page.getByLabel('Select all checks on this page').click();
    expect(await page.locator('.bulk-count').innerText()).toBe('12 selected');
    await bar.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.toast', { hasText: '12 checks resumed.' }).waitFor();
    await box(page, 'check a').click();
    await bar.getByLabel('Tag the selected checks').click();
    await bar.getByLabel('Tag', { exact: true }).fill('added');
    await page.keyboard.press('Enter');
    await page.locator('.toast', { hasText: '1 check tagged.' }).waitFor();
    expect(window.complaints).toEqual([]);
  });

  it('are deleted some seconds later, unless undone, and at once when the page is left', async () => {
    const id = await stage.addCheck('to be deleted');
    stage.checks.delete('to be deleted');
    await using window = await stage.visit();
    const { page } = window;
    const removeIt = async () => {
      await window.go('/?q=to+be');
      await box(page, 'to be deleted').check();
      await page.locator('#bulk').getByRole('button', { name: 'Delete' }).click();
    };
    await removeIt();
    expect(await row(page, 'to be deleted').isVisible()).toBe(false);
    await page
      .locator('.toast', { hasText: '1 check deleted.' })
      .getByRole('button', { name: 'Undo' })
      .click();
    expect(await row(page, 'to be deleted').isVisible()).toBe(true);
    await removeIt();
    // An update of the page does not bring the row back.
    await page.fill('#search', 'to be d');
    await page.waitForURL(/to\+be\+d/);
    expect(await row(page, 'to be deleted').isVisible()).toBe(false);
    expect(await exists(id)).toBe(true);
    await window.go('/alerts');
    await expect.poll(() => exists(id)).toBe(false);
    expect(window.complaints).toEqual([]);
  });

  it('are changed without scripts, too', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go('/');
    await box(page, 'check e').check();
    await page.getByRole('button', { name: 'Mute', exact: true }).click();
    await page.locator('.toast', { hasText: '1 check muted.' }).waitFor();
    await box(page, 'check e').check();
    await page.getByRole('button', { name: 'Delete' }).click();
    expect(await page.locator('h1').innerText()).toBe('Delete 1 check?');
    await page.getByRole('link', { name: 'Cancel' }).click();
    expect(await row(page, 'check e').isVisible()).toBe(true);
  });
});

it('saves filters by name in the browser', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/?tag=shop&sort=-name');
  await page.getByRole('button', { name: 'Save these filters' }).click();
  await page.keyboard.type('The <b>shop</b>');
  await page.keyboard.press('Enter');
  await window.go('/');
  const chip = page.getByRole('link', { name: 'The <b>shop</b>' });
  await chip.click();
  await page.waitForURL(/\?tag=shop&sort=-name/);
  expect(await chip.getAttribute('aria-current')).toBe('true');
  await expectNothingForAxe(page, 'saved filters');
  await page.getByRole('button', { name: 'Remove the saved filter The <b>shop</b>' }).click();
  await window.go('/');
  expect(await chip.count()).toBe(0);
  expect(window.complaints).toEqual([]);
});

describe('the keyboard', () => {
  it('moves through the table, selects and opens', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/?tag=shop&sort=name');
    for (const key of ['j', 'j', 'j', 'k', 'x']) await page.keyboard.press(key);
    expect(await box(page, 'check b').isChecked()).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/checks\//);
    expect(await page.locator('h1').innerText()).toBe('check b');
    for (const [keys, path] of [
      ['ga', '/alerts'],
      ['gl', '/locations'],
      ['go', '/'],
      ['n', '/checks/new'],
    ] as const) {
      for (const key of keys) await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
    }
    // In a field, a letter is a letter.
    await window.go('/');
    await page.locator('#search').focus();
    await page.keyboard.type('n/?gax');
    expect(await page.locator('#search').inputValue()).toBe('n/?gax');
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    await window.go('/');
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog', { name: 'Keys' }).innerText()).toContain('Go to the alerts');
    await expectNothingForAxe(page, 'the keys');
    await page.getByLabel('Keys of one letter or sign').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    await page.keyboard.press('Control+k');
    await page.getByRole('button', { name: 'All keys' }).click();
    await page.getByLabel('Keys of one letter or sign').check();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await expect.poll(() => page.locator('dialog').count()).toBe(1);
    expect(window.complaints).toEqual([]);
  });

  it('goes anywhere by name', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/alerts');
    const dialog = page.getByRole('dialog', { name: 'Go anywhere' });
    await page.keyboard.press('Control+k');
    await dialog.getByRole('combobox').waitFor();
    await page.keyboard.type('check');
    await dialog.getByRole('option', { name: /\bcheck a\b/ }).waitFor();
    await expectNothingForAxe(page, 'the palette');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    expect(await dialog.locator('[aria-selected=true]').count()).toBe(1);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await dialog.getByRole('combobox').waitFor();
    // Until the browser draws the page again, keys still arrive in the dialog that was closed.
    const openedBy = (key: string) =>
      page.evaluate<number>(`(() => {
        const dialog = document.querySelector('dialog');
        const input = dialog.querySelector('input');
        dialog.close();
        input.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true }));
        return document.querySelectorAll('dialog[open]').length;
      })()`);
    expect(await openedBy('Enter')).toBe(0);
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await dialog.getByRole('option').first().waitFor();
    expect(await openedBy('/')).toBe(1);
    await dialog.getByRole('combobox').waitFor();
    expect(new URL(page.url()).pathname).toBe('/alerts');
    // Enter waits for the results of the typed words.
    await page.keyboard.type('check f');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/checks\/[\w-]+$/);
    expect(await page.locator('h1').innerText()).toBe('check f');
    await page.getByRole('link', { name: 'Search' }).click();
    await dialog.getByRole('combobox').waitFor();
    await page.keyboard.type('log out');
    await dialog.getByRole('option', { name: 'Log out' }).click();
    await page.waitForURL(/\/login/);
    expect(window.complaints).toEqual([]);
  });
});
