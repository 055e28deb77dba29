/**
 * Browsers besides Chromium that operators install for the suites of an agent: Playwright's own builds of Firefox and
 * WebKit, and Chrome and Edge of their makers, by the names of Playwright.
 */
export const otherBrowsers = ['firefox', 'webkit', 'chrome', 'msedge'] as const;
export type OtherBrowserName = (typeof otherBrowsers)[number];
