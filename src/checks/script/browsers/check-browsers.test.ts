import { describe, expect, it } from 'vitest';
import { BrowserSpec } from '../spec.ts';
import { browsersInCode } from './browsers-in-code.ts';
import { browserProblems, browsersOf } from './check-browsers.ts';

const spec = (fields: object) => BrowserSpec.parse({ script: "console.log('hello')", ...fields });

describe('browsers that the code of a script names', () => {
  it.each([
    ["import { firefox } from 'playwright';", ['firefox']],
    ["import { chromium, webkit as safari, type Page } from '@playwright/test';", ['webkit']],
    ["const { webkit, firefox } = require('playwright-core');", ['firefox', 'webkit']],
    ["const { firefox: fox } = await import('playwright');", ['firefox']],
    ["import * as pw from 'playwright'; await pw.firefox.launch();", ['firefox']],
    ["test.use({ browserName: 'webkit' });", ['webkit']],
    ['test.use({ "channel": "msedge" });', ['msedge']],
    ["await chromium.launch({ channel: 'chrome' });", ['chrome']],
    ["test.use({ ...devices['iPhone 15 Pro'] });", ['webkit']],
    ["test.use(devices['Desktop Firefox']);", ['firefox']],
    ["page.route('**/*.png', a); import { firefox } from 'playwright'; page.route('**/*', b);", ['firefox']],
  ])('%s', (code, names) => expect(browsersInCode(code).toSorted()).toEqual(names));

  it.each([
    "import { chromium } from 'playwright';",
    "// test.use({ browserName: 'firefox' });",
    "/* import { firefox } from 'playwright'; */",
    "await page.getByText('firefox').click(); await page.goto('https://example.com/webkit.launch');",
    "const context = await browser.newContext({ ...devices['iPhone 15'] });",
    "test.use({ ...devices['iPhone 15'], defaultBrowserType: 'chromium' });",
    "import { firefoxVersion } from './versions';",
    "test.use({ channel: 'chromium' });",
  ])('none: %s', (code) => expect(browsersInCode(code)).toEqual([]));
});

it('reads hostile code once', () => {
  const hostile = ['/*firefox', '{firefox', 'firefox   ', 'test.use( {...', ' //webkit', '{firefox} from '];
  for (const part of hostile) expect(browsersInCode(part.repeat(1_000_000 / part.length))).toEqual([]);
});

describe('browsers that a check opens', () => {
  it('are Chromium, and what its settings and its code name', () => {
    expect(browsersOf(spec({}))).toEqual(['chromium']);
    const projects = [{ name: 'a', use: { browserName: 'firefox' } }, { name: 'b' }];
    const dependencies = [{ path: 'a.ts', content: "export const use = { channel: 'chrome' };" }];
    expect(browsersOf(spec({ playwrightConfig: { projects }, dependencies }))).toEqual([
      'chromium',
      'firefox',
      'chrome',
    ]);
  });

  it('are those of its field alone, in their order, where it has some', () => {
    const script = "import { webkit } from 'playwright'; await webkit.launch();";
    expect(browsersOf(spec({ script, browsers: ['firefox', 'chromium', 'firefox'] }))).toEqual([
      'firefox',
      'chromium',
    ]);
  });

  it('must have what its settings choose, and support throttling', () => {
    const use = { use: { browserName: 'firefox' } };
    expect(browserProblems(spec({ playwrightConfig: use, browsers: ['chromium'] }))).toMatchObject([
      { path: ['browsers'], message: 'must name firefox, which playwrightConfig chooses' },
    ]);
    expect(browserProblems(spec({ browsers: ['webkit'], throttling: { profile: '3G' } }))).toMatchObject([
      { path: ['throttling'] },
    ]);
    expect(browserProblems(spec({ browsers: ['chrome'], throttling: { profile: '3G' } }))).toEqual([]);
    expect(browserProblems(spec({ playwrightConfig: use }))).toEqual([]);
  });
});
