import { expect, it } from 'vitest';
import { metNeeds, needOfText, needText } from './needed-browsers.ts';

const named = (...names: string[]) => names.map((name) => ({ name }));

it('is met by every agent that has all of the browsers, in whatever order they are named', () => {
  const need = needText(null, ['webkit', 'firefox']) ?? '';
  expect(needText(null, ['firefox', 'webkit'])).toBe(need);
  expect(metNeeds([], named('firefox', 'webkit'))).toContain(need);
  expect(metNeeds([], named('msedge', 'webkit', 'chrome', 'firefox', 'firefox'))).toContain(need);
  expect(metNeeds([], named('firefox', 'chrome'))).not.toContain(need);
  expect(needOfText(need)).toEqual({ runtimeId: null, browsers: ['firefox', 'webkit'] });
});

it('may be a runtime and browsers, which the same agent must have', () => {
  const need = needText('2026.04', ['firefox']) ?? '';
  expect(needOfText(need)).toEqual({ runtimeId: '2026.04', browsers: ['firefox'] });
  expect(metNeeds(['2025.04', '2026.04'], named('webkit', 'firefox'))).toContain(need);
  expect(metNeeds(['2026.04'], [])).not.toContain(need);
  expect(metNeeds(['2025.04'], named('firefox'))).not.toContain(need);
});

it('is nothing for a suite of Chromium, and no runtime is taken for browsers', () => {
  expect(needText(null, [])).toBeNull();
  expect(needOfText('2026.04')).toEqual({ runtimeId: '2026.04', browsers: [] });
  expect(needOfText(null)).toEqual({ runtimeId: null, browsers: [] });
  expect(metNeeds([], [])).toEqual([]);
  expect(metNeeds(['2026.04'], [])).toEqual(['2026.04']);
  expect(metNeeds([], named('opera', 'firefox'))).toEqual(['browsers:firefox']);
});
