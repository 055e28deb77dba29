'use strict';
/**
 * The browser of a process that waits: launched before it is known whose script will open it, used by that one script.
 *
 * Playwright's test runner launches it with options of the configuration and with one that only the run knows, the folder
 * of its traces. Here it is launched with the same options but that one, which is told to it when it is handed out.
 * Whatever is not as expected (other options, a browser that died, a Playwright that keeps these things elsewhere) goes the
 * usual way.
 */
const fs = require('node:fs');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');

/** A browser that cannot be had by then is not waited for. */
const launchTimeoutMs = 15_000;
/** The same for a first page in it. */
const pageTimeoutMs = 8000;

let ahead;

/**
 * Launches the browser and opens, records and closes a first page in it, which has it start what pages need.
 *
 * @param launch Playwright's own, not observed: nothing here is the script's.
 */
async function launchAhead(browserType, launch, args) {
  const options = { handleSIGINT: false, args, headless: true };
  const browser = await launch.call(browserType, { ...options, timeout: launchTimeoutMs });
  ahead = { browser, options };
  // Calls to a page whose process was killed may never end. Without the browser they all do, and the script opens its own.
  const stuck = setTimeout(() => void optionsOf(browser)?.browserProcess?.kill(), pageTimeoutMs);
  try {
    const page = await browser.newPage();
    await traceAhead(page.context(), () => page.goto('about:blank'));
    await page.close();
    await page.context().close();
  } finally {
    clearTimeout(stuck);
  }
}

/** What Playwright's other side knows of a browser, where it is where it was. */
function optionsOf(browser) {
  return browser._connection?.toImpl?.(browser)?.options;
}

/** Records what a context does as Playwright does for tests, so that the engine has read and compiled what that takes. */
async function traceAhead(context, act) {
  // That of contexts for requests is Playwright's own affair.
  const tracing = context.tracing ?? context._tracing;
  const file = path.join(process.env.PWTEST_CACHE_DIR, '..', 'ahead.zip');
  await tracing.start({ screenshots: true, snapshots: true, sources: true });
  try {
    await act();
  } finally {
    await tracing.stop({ path: file });
    fs.rmSync(file, { force: true });
  }
}

/** The browser, once, to a launch that would have made the same. */
function takeAhead(browserType, args) {
  if (!ahead || (args.length > 0 && !isDeepStrictEqual(args, [{}]))) return undefined;
  const { browser, options } = ahead;
  const { tracesDir, ...wanted } = browserType._playwright?._defaultLaunchOptions ?? {};
  const own = optionsOf(browser);
  const isFit =
    browserType.name() === 'chromium' && browser.isConnected() && isDeepStrictEqual(wanted, options);
  if (!isFit || !own || typeof own.tracesDir !== 'string' || typeof browser._options !== 'object')
    return undefined;
  ahead = undefined;
  if (tracesDir !== undefined) own.tracesDir = tracesDir;
  browser._options = { ...wanted, tracesDir };
  return browser;
}

module.exports = { launchAhead, takeAhead, traceAhead };
