import { expect, test } from '@playwright/test';
import { title } from './words.ts';

test('the home page has a title', { tag: '@smoke' }, async ({ page }) => {
  await page.goto('/');
  await expect(page).toHaveTitle(title);
});
