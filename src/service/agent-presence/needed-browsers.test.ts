import { expect, it } from 'vitest';
import { browserNeed, browsersOfNeed, metBrowserNeeds } from './needed-browsers.ts';

const agentWith = (...names: string[]) => names.map((name) => ({ name }));

it('is met by every agent that has all of the browsers, in whatever order they are named', () => {
  const need = browserNeed(['webkit', 'firefox']) ?? '';
  expect(browserNeed(['firefox', 'webkit'])).toBe(need);
  expect(metBrowserNeeds(agentWith('firefox', 'webkit'))).toContain(need);
  expect(metBrowserNeeds(agentWith('msedge', 'webkit', 'chrome', 'firefox', 'firefox'))).toContain(need);
  expect(metBrowserNeeds(agentWith('firefox', 'chrome'))).not.toContain(need);
  expect(browsersOfNeed(need)).toEqual(['firefox', 'webkit']);
});

it('is nothing for a suite of Chromium, and no runtime is taken for browsers', () => {
  expect(browserNeed([])).toBeNull();
  expect(browsersOfNeed('2026.04')).toBeUndefined();
  expect(browsersOfNeed(null)).toBeUndefined();
  expect(metBrowserNeeds([])).toEqual([]);
  expect(metBrowserNeeds(agentWith('opera', 'firefox'))).toEqual(['browsers:firefox']);
});
