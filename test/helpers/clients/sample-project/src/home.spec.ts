import { expect, test } from '@playwright/test';

test('the home page has a title', async ({ page }) => {
  await page.goto('https://shop.example.com/');
  await expect(page).toHaveTitle(/Shop/);
});
