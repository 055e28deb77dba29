import type { OtherBrowserName } from '../../tables/browsers.ts';

/** Whether a text can name another browser at all: most scripts name none, and are read no further. */
const perhaps = /firefox|webkit|chrome|msedge|devices\s*\[/;
const lineComments = /(?<=^|\s)\/\/.*$/gm;

/** `import { firefox as fox } from 'playwright'`, `const { webkit } = require('playwright-core')`. */
const imported =
  /\{([^{}]*)\}\s*(?:from\s*|=\s*(?:await\s+import|require)\s*\(\s*)['"](?:@playwright\/test|playwright|playwright-core)['"]/g;
/** `playwright.firefox.launch()`. */
const opened = /\b(firefox|webkit)\s*\.\s*launch(?:PersistentContext|Server)?\s*\(/g;
/** `test.use({ browserName: 'firefox' })`. */
const chosen = /\b(?:browserName|defaultBrowserType)['"]?\s*:\s*['"`](firefox|webkit)['"`]/g;
/** `test.use({ channel: 'msedge' })`, `chromium.launch({ channel: 'chrome' })`. */
const channel = /\bchannel['"]?\s*:\s*['"`](chrome|msedge)['"`]/g;
/** `test.use({ ...devices['iPhone 15'] })`: in tests a device brings its browser. */
const device =
  /\btest\.use\s*\(\s*(?:\{\s*\.\.\.\s*)?devices\s*\[\s*['"`](Desktop Firefox|Desktop Safari|iPhone|iPad)/g;
/** A script that takes a device, and yet Chromium. */
const overridden = /\b(?:browserName|defaultBrowserType)['"]?\s*:\s*['"`]chromium['"`]/;

/**
 * Browsers besides Chromium that the code of a script plainly names, as Playwright's documentation has it. Names that
 * are computed, or come from variables, have to be in the field `browsers`.
 */
export function browsersInCode(source: string): readonly OtherBrowserName[] {
  if (!perhaps.test(source)) return [];
  const code = withoutComments(source);
  const found: OtherBrowserName[] = [];
  const take = (pattern: RegExp) => {
    for (const [, name] of code.matchAll(pattern)) found.push(name as OtherBrowserName);
  };
  for (const [, names = ''] of code.matchAll(imported)) {
    for (const name of ['firefox', 'webkit'] as const)
      if (new RegExp(`(?:^|,)\\s*${name}\\b`).test(names)) found.push(name);
  }
  for (const pattern of [opened, chosen, channel]) take(pattern);
  if (!overridden.test(code)) {
    for (const [, name] of code.matchAll(device))
      found.push(name === 'Desktop Firefox' ? 'firefox' : 'webkit');
  }
  return [...new Set(found)];
}

/** Linear in the length of the source, which may be hostile. */
function withoutComments(source: string): string {
  const parts: string[] = [];
  let from = 0;
  let at = source.indexOf('/*');
  while (at >= 0) {
    const end = source.indexOf('*/', at + 2);
    if (end < 0) break;
    // Patterns of paths such as `**/*.png` begin no comment.
    const isComment = at === 0 || /[\s;{}(),]/.test(source.charAt(at - 1));
    if (isComment) {
      parts.push(source.slice(from, at));
      from = end + 2;
    }
    at = source.indexOf('/*', isComment ? from : at + 2);
  }
  return [...parts, source.slice(from)].join(' ').replaceAll(lineComments, '');
}
