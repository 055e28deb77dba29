/**
 * Browsers besides Chromium that operators install for the scripts and suites of an agent: Playwright's own builds of
 * Firefox and WebKit, and Chrome and Edge of their makers, by the names of Playwright.
 */
export const otherBrowsers = ['firefox', 'webkit', 'chrome', 'msedge'] as const;
export type OtherBrowserName = (typeof otherBrowsers)[number];

/** Every browser that a check can name. */
export const browserNames = ['chromium', ...otherBrowsers] as const;
export type BrowserName = (typeof browserNames)[number];

/** How an operator installs browsers: `install it with "picket browsers install firefox"`. */
export function howToInstall(names: readonly string[]): string {
  const isBuilt = (name: string) => name === 'firefox' || name === 'webkit';
  const built = names.filter(isBuilt);
  const branded = names.filter((name) => !isBuilt(name));
  const ways = [
    ...(built.length > 0 ? [`with "picket browsers install ${built.join(' ')}"`] : []),
    ...branded.map((name) => `with the package of ${name === 'chrome' ? 'Google Chrome' : 'Microsoft Edge'}`),
  ];
  return `install ${names.length === 1 ? 'it' : 'them'} ${ways.join(' and ')}`;
}
