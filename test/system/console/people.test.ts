import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { goodPassword } from '../../helpers/service/members.ts';

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await ConsoleStage.open();
});
afterAll(() => stage.close());

async function expectAccessible(page: Page, name: string): Promise<void> {
  await expectNothingForAxe(page, name);
  await expectNarrowEnough(page, name);
}

it('a person is invited, joins, logs in with the keyboard, and is removed: without scripts', async () => {
  await using admin = await stage.visit({ javaScriptEnabled: false });
  await admin.go('/account');
  await admin.page.getByLabel('Mail address').fill('ada@example.com');
  await admin.page.getByLabel('Role', { exact: true }).selectOption('READ_WRITE');
  await admin.page.getByRole('button', { name: 'Invite' }).click();
  const link = await admin.page.locator('.key-once pre').innerText();
  expect(link).toMatch(new RegExp(`^${stage.url}/invitations/`));

  const context = await stage.browser.newContext({ colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(link);
  await expectAccessible(page, 'an invitation');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('New password').fill(goodPassword);
  await page.getByRole('button', { name: 'Join the account' }).click();
  await page.waitForURL(`${stage.url}/`);
  expect(await page.locator('.who-name').innerText()).toBe('Ada');
  await page.goto(`${stage.url}/account/profile`);
  await expectAccessible(page, 'the profile of a member');
  expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Log out' }).click();
  await expectAccessible(page, 'the login');
  await page.getByLabel('Mail address').focus();
  await page.keyboard.type('ada@example.com');
  await page.keyboard.press('Tab');
  await page.keyboard.type(goodPassword);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${stage.url}/`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('Log in with an API key').click();
  await page.getByLabel('API key').fill('ak_mistyped');
  await page.getByLabel('API key').press('Enter');
  expect(await page.locator('.error').innerText()).toContain('API key does not exist');
  await page.goto(`${stage.url}/login/forgotten`);
  await expectAccessible(page, 'a new password');
  await page.goto(`${stage.url}/login`);
  await page.getByLabel('Mail address').fill('ada@example.com');
  await page.getByLabel('Password').fill(goodPassword);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${stage.url}/`);

  await admin.go('/account');
  await admin.page.getByText('Remove…').click();
  await admin.page.getByRole('button', { name: 'Remove the member' }).click();
  await page.reload();
  expect(page.url()).toContain('/login');
  await context.close();
  expect(admin.complaints).toEqual([]);
});

it('a key is created, used and revoked, and the audit log shows by whom', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/account/keys');
  await page.getByLabel('Name').fill('ci <b>');
  await page.getByLabel('Role').selectOption('READ_RUN');
  await page.getByRole('button', { name: 'Create a key' }).click();
  const key = await page.locator('.key-once pre').innerText();
  expect((await stage.harness.call('GET', '/v1/checks', undefined, { key })).status).toBe(200);
  await expectAccessible(page, 'a new key');
  const row = page.locator('tr', { hasText: 'ci <b>' });
  await row.getByText('Revoke…').click();
  await row.getByRole('button', { name: 'Revoke the key' }).click();
  await page.waitForURL(`${stage.url}/account/keys`);
  expect((await stage.harness.call('GET', '/v1/checks', undefined, { key })).status).toBe(401);
  await page.getByRole('link', { name: 'Audit log' }).click();
  const entry = page.locator('tr', { hasText: 'delete API key' });
  expect(await entry.innerText()).toContain('ci <b>');
  await expectAccessible(page, 'the audit log');
  await entry.getByRole('link', { name: 'History of it' }).click();
  expect(await page.locator('tbody tr').count()).toBe(2);
  expect(window.complaints).toEqual([]);
});
