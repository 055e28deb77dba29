import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

export interface AccessibilityOptions {
  /** The rest was looked at in the other scheme: only colours differ in the dark. */
  readonly isOnlyColours?: boolean;
}

/** Expects that axe finds nothing on the page as it is. @param name says which page it is. */
export async function expectNothingForAxe(
  page: Page,
  name: string,
  { isOnlyColours = false }: AccessibilityOptions = {},
): Promise<void> {
  // In the page itself: the other mode opens a page more for each result. Previews may run nothing.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode();
  axe.exclude('iframe[name=preview]');
  if (isOnlyColours) axe.withRules(['color-contrast']);
  const { violations } = await axe.analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  expect(found, name).toEqual([]);
}

/** Expects that the page needs no sideways scrolling on a telephone of 320 pixels; leaves it wide. */
export async function expectNarrowEnough(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 320, height: 800 });
  const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(excess, `${name} at 320 px`).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 800 });
}
