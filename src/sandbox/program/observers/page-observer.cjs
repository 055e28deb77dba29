'use strict';
/**
 * Observes every browser that a script opens, in whatever way: web vitals and errors of its pages, and the duration of
 * API requests. It patches the classes of Playwright's client, so the script's own code is unchanged.
 */
const path = require('node:path');
const { note, text, describe } = require('../events.cjs');
const { abortedLoad } = require('../foreign-texts.cjs');
const { launchOptions } = require('./launch-options.cjs');
const { throttlingProblem } = require('./throttling.cjs');
const { initScript, reportName, readName } = require('./page-vitals.cjs');

const maxNotes = 500;
const readTimeoutMs = 500;
const closedSchemes = /^\s*(file|chrome|chrome-untrusted|devtools|view-source):/i;

const observed = new WeakSet();
/** Duration of API requests, by their response. */
const responseTimes = new WeakMap();
/** Open contexts, each with a function that ends its trace. */
const openContexts = new Map();
let noted = 0;
let evidenceCount = 0;
/** Start times of launches in progress. */
const launches = new Set();

function noteFinding(event) {
  noted += 1;
  if (noted <= maxNotes) note(event);
}

/** Wraps a method of a class or of one object; wrapping it again has no effect. */
function wrap(owner, name, wrapper) {
  const original = owner?.[name];
  if (typeof original !== 'function' || original.isObserved) return;
  const wrapped = function observedCall(...args) {
    return wrapper.call(this, original, args);
  };
  wrapped.isObserved = true;
  Object.defineProperty(owner, name, { value: wrapped, writable: true, configurable: true });
}

/** Runs our own calls to a browser, so that they are not reported as steps of the script. */
function internally(object, ask) {
  return typeof object._wrapApiCall === 'function' ? object._wrapApiCall(ask, { internal: true }) : ask();
}

async function launching(launch) {
  const one = { beganMs: performance.now() };
  launches.add(one);
  try {
    return await launch();
  } finally {
    launches.delete(one);
  }
}

/** Duration of the longest launch in progress; 0 without one. */
function launchingMs() {
  const [first] = launches;
  return first ? performance.now() - first.beganMs : 0;
}

/** @param playwright the exports of `playwright-core`. */
function observePlaywright(playwright) {
  const browserType = playwright?.chromium && Object.getPrototypeOf(playwright.chromium);
  if (!browserType || observed.has(browserType)) return;
  observed.add(browserType);
  for (const name of ['launch', 'connect', 'connectOverCDP']) {
    wrap(browserType, name, async function launched(launch, args) {
      requireThrottled(this, name);
      const given = name === 'launch' ? [launchOptions(this, args[0])] : args;
      const browser = await launching(() => launch.apply(this, given));
      noteBrowser(this, browser);
      observeBrowser(browser);
      return browser;
    });
  }
  wrap(browserType, 'launchPersistentContext', async function launched(launch, args) {
    requireThrottled(this, 'launchPersistentContext');
    const [directory, options] = args;
    const context = await launching(() => launch.call(this, directory, launchOptions(this, options)));
    noteBrowser(this, context.browser());
    await observeContext(context);
    return context;
  });
  const request = playwright.request && Object.getPrototypeOf(playwright.request);
  wrap(request, 'newContext', async function opened(open, args) {
    const context = await open.apply(this, args);
    observeRequests(context);
    return context;
  });
}

/** @throws if the check has throttling, which this browser does not support: its times would mean something else. */
function requireThrottled(browserType, method) {
  const problem = throttlingProblem(browserType.name(), method);
  if (problem !== undefined) throw new Error(problem);
}

/** @param browser null for some kinds of browsers. */
function noteBrowser(browserType, browser) {
  const version = browser?.version();
  if (typeof version === 'string') noteFinding({ event: 'browser', name: browserType.name(), version });
}

function observeBrowser(browser) {
  wrap(browser, 'newContext', async function opened(open, args) {
    const context = await open.apply(this, args);
    await observeContext(context);
    return context;
  });
  wrap(browser, 'close', async function closing(close, args) {
    for (const context of browser.contexts()) await finish(context);
    return close.apply(this, args);
  });
}

async function observeContext(context) {
  if (observed.has(context)) return;
  observed.add(context);
  observeRequests(context.request);
  context.on('page', observePage);
  for (const page of context.pages()) observePage(page);
  wrap(context, 'close', async function closing(close, args) {
    await finish(context);
    return close.apply(this, args);
  });
  try {
    await internally(context, async () => {
      await context.addInitScript(initScript);
      await context.exposeBinding(reportName, (_source, report) => notePage(report));
      await startTrace(context);
    });
  } catch (error) {
    // The browser is gone; the script sees that itself.
    noteFinding({ event: 'finding', kind: 'agent', message: describe(error).message, url: '' });
  }
}

function observePage(page) {
  if (observed.has(page)) return;
  observed.add(page);
  const find = (kind, message, url = page.url()) =>
    noteFinding({ event: 'finding', kind, message: text(message), url: text(url, 2048) });
  page.on('console', (message) => {
    if (message.type() === 'error') find('console', message.text());
  });
  page.on('pageerror', (error) => find('document', describe(error).message));
  page.on('crash', () => find('document', 'The page crashed'));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'failed';
    // Navigating away and closing a page abort pending loads.
    if (!abortedLoad(reason)) find(kindOf(request, page), `${request.method()} ${reason}`, request.url());
  });
  page.on('response', (response) => {
    if (response.status() < 400) return;
    const request = response.request();
    find(kindOf(request, page), `${request.method()} ${response.status()}`, response.url());
  });
  wrap(page, 'close', async function closing(close, args) {
    await readPage(page);
    return close.apply(this, args);
  });
  // A page navigates through its main frame.
  wrap(Object.getPrototypeOf(page.mainFrame()), 'goto', function going(goto, args) {
    if (closedSchemes.test(String(args[0]))) {
      return Promise.reject(new Error(`Checks may not open ${String(args[0]).slice(0, 200)}`));
    }
    return goto.apply(this, args);
  });
}

function kindOf(request, page) {
  if (!request.isNavigationRequest()) return 'network';
  try {
    return request.frame() === page.mainFrame() ? 'document' : 'network';
  } catch {
    // A navigation whose page does not exist yet: a popup's first document.
    return 'document';
  }
}

/**
 * Records a trace of a plain script, as Playwright's test runner does for tests (which have no PICKET_EVIDENCE). A
 * script that records a trace of its own takes over.
 */
async function startTrace(context) {
  const folder = process.env.PICKET_EVIDENCE;
  if (!folder) return;
  const { tracing } = context;
  await tracing.start({ screenshots: true, snapshots: true, sources: true });
  openContexts.set(context, () => {
    openContexts.delete(context);
    evidenceCount += 1;
    return internally(context, () => tracing.stop({ path: path.join(folder, `trace-${evidenceCount}.zip`) }));
  });
  wrap(tracing, 'start', async function starting(start, args) {
    await openContexts.get(context)?.();
    return start.apply(this, args);
  });
}

/** Collects results from a context before it closes. */
async function finish(context) {
  await readPages(context);
  try {
    await openContexts.get(context)?.();
  } catch (error) {
    noteFinding({ event: 'finding', kind: 'agent', message: describe(error).message, url: '' });
  }
}

/** Takes a screenshot of every page that a failed plain script left open, and ends the traces. */
async function keepFailure() {
  for (const context of [...openContexts.keys()]) {
    for (const page of context.pages()) {
      evidenceCount += 1;
      const file = path.join(process.env.PICKET_EVIDENCE, `failure-${evidenceCount}.png`);
      await internally(page, () => page.screenshot({ path: file, timeout: 2000 })).catch((error) =>
        noteFinding({ event: 'finding', kind: 'agent', message: describe(error).message, url: '' }),
      );
    }
    await finish(context);
  }
}

/** Reads the vitals of the pages that are still open. */
async function readPages(context) {
  await Promise.all(context.pages().map(readPage));
}

async function readPage(page) {
  if (page.isClosed() || !/^https?:/.test(page.url())) return;
  let timer;
  try {
    const report = await Promise.race([
      internally(page, () => page.evaluate((name) => JSON.stringify(window[name]?.() ?? null), readName)),
      new Promise((resolve) => {
        timer = setTimeout(resolve, readTimeoutMs, null);
      }),
    ]);
    if (report !== null) notePage(report);
  } catch {
    // The page is busy, crashed or gone, and has no vitals.
  } finally {
    clearTimeout(timer);
  }
}

function notePage(report) {
  if (typeof report !== 'string' || report.length > 16_384) return;
  try {
    noteFinding({ event: 'page', ...JSON.parse(report) });
  } catch (error) {
    // A page can call the binding with anything.
    if (!(error instanceof SyntaxError)) throw error;
  }
}

function observeRequests(context) {
  const prototype = context && Object.getPrototypeOf(context);
  if (!prototype || observed.has(prototype)) return;
  observed.add(prototype);
  wrap(prototype, 'fetch', async function fetching(fetch, args) {
    const startedMs = performance.now();
    const response = await fetch.apply(this, args);
    if (typeof response === 'object' && response !== null) {
      responseTimes.set(response, performance.now() - startedMs);
    }
    return response;
  });
}

module.exports = { observePlaywright, responseTimes, keepFailure, launchingMs };
