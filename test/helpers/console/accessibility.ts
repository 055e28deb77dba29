import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

export interface AccessibilityOptions {
  /** The rest was checked in the other colour scheme: dark mode differs only in colours. */
  readonly isOnlyColours?: boolean;
}

/** Expects that axe finds no violations on the current page. @param name identifies the page. */
export async function expectNothingForAxe(
  page: Page,
  name: string,
  { isOnlyColours = false }: AccessibilityOptions = {},
): Promise<void> {
  // Runs in the page itself: the other mode opens an extra page for each result. Previews may not run scripts.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode();
  axe.exclude('iframe[name=preview]');
  if (isOnlyColours) axe.withRules(['color-contrast']);
  const { violations } = await axe.analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  expect(found, name).toEqual([]);
}

/** Expects that the page needs no horizontal scrolling on a 320-pixel-wide phone. Resets to the wide viewport. */
export async function expectNarrowEnough(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 320, height: 800 });
  const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(excess, `${name} at 320 px`).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 800 });
}
