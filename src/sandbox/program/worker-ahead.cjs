'use strict';
/**
 * Playwright runs tests in a worker process that it forks once it knows them, and that loads nearly everything the runner
 * has loaded once more. Here that process is forked early, with Playwright's own entry held back, and given out when
 * Playwright forks: to Playwright it is a worker like any other, only faster. Whatever is not as expected (another entry,
 * other descriptors, a second worker, a worker that died) goes the usual way.
 *
 * The same file is the entry of that process: it loads what a worker needs, waits for its environment, and becomes
 * Playwright's worker.
 */
const childProcess = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { launchAhead, traceAhead } = require('./browser-ahead.cjs');

/** How Playwright's runner connects its workers. */
const stdio = ['ignore', 'pipe', 'pipe', 'ipc'];

let ahead;

/**
 * Forks the worker.
 *
 * @param onLoaded called when it has loaded what it could; given for one that waits, which has time to try what runs do.
 */
function forkAhead(modulesDirectory, onLoaded) {
  const { fork } = childProcess;
  const child = fork(__filename, [modulesDirectory, ...(onLoaded ? ['ahead'] : [])], {
    env: {
      ...process.env,
      NODE_OPTIONS: `--require ${JSON.stringify(path.join(__dirname, 'preload.cjs'))}`,
    },
    detached: false,
    stdio,
  });
  const lose = () => {
    ahead = undefined;
  };
  const hear = () => onLoaded?.();
  child.once('exit', lose);
  child.once('error', lose);
  child.once('message', hear);
  ahead = { child, lose, hear };
  childProcess.fork = function forkOrHandOver(entry, ...rest) {
    const options = rest.at(-1);
    const isWorker = /[\\/]playwright[\\/]lib[\\/]common[\\/]process(\.js)?$/.test(String(entry));
    const isAsExpected =
      rest.length === 1 && JSON.stringify(options?.stdio) === JSON.stringify(stdio) && !options.execArgv;
    if (!ahead || !isWorker || !isAsExpected || !ahead.child.connected) return fork(entry, ...rest);
    const { child: worker } = ahead;
    worker.off('exit', lose);
    worker.off('error', lose);
    worker.off('message', hear);
    ahead = undefined;
    worker.send({ entry, environment: { ...options.env } });
    return worker;
  };
}

/** Ends the worker that was forked and is of no use. */
function endAhead() {
  ahead?.child.kill('SIGKILL');
}

/** What is loaded early must change nothing but the time: a module that a version does not have is left out. */
function loadAll(modulesDirectory, names) {
  for (const name of names) {
    try {
      require(path.join(modulesDirectory, name));
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND' && error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error;
    }
  }
}

/** A script of the usual kind, for what is compiled only when it is used. */
const sample = `import { test, expect } from '@playwright/test';
interface Item { readonly id: number; name?: string }
const wanted: Item[] = [{ id: 1, name: \`one \${2}\` }];
test.describe('ahead', () => {
  test('sample', async ({ request }, testInfo) => {
    const answer = await request.get(process.env.URL ?? '');
    for (const { id, ...rest } of wanted) expect(rest.name?.length ?? id).toBeGreaterThan(0);
    try { expect(answer.status()).toBe(200); } catch (error) { throw error as Error; }
  });
});
`;

/**
 * Uses once what every run uses, so that the engine has read and compiled it: the translation of sources, and a syntax tree of
 * one that awaits. That takes 150 ms the first time and a few afterwards.
 */
function useTranslation(modulesDirectory) {
  const { transformHook } = require(path.join(modulesDirectory, 'playwright/lib/transform/transform.js'));
  const { hasTopLevelAwait, parse } = require('./script-source.cjs');
  unlessMissing(() => transformHook?.(sample, path.join(process.cwd(), 'ahead.spec.ts')));
  unlessMissing(() => hasTopLevelAwait(parse(modulesDirectory, sample)));
}

/** The same for what is found out about the fixtures of `test`, which is remembered with them, and for stacks of errors. */
function useFixtures(modulesDirectory) {
  const { FixturePool } = require(path.join(modulesDirectory, 'playwright/lib/common/fixtures.js'));
  const { test } = require(path.join(modulesDirectory, '@playwright/test'));
  const symbol = Object.getOwnPropertySymbols(test).find(({ description }) => description === 'testType');
  const fixtures = symbol && test[symbol]?.fixtures;
  if (fixtures && FixturePool) unlessMissing(() => new FixturePool(fixtures, () => undefined));
  String(new Error('ahead').stack);
}

/** A version of Playwright that does not have it like this, or finds fault with the sample, is used as it is. */
function unlessMissing(use) {
  try {
    use();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

/** What Playwright's runner needs for a run. */
const runnerModules = [
  'playwright/lib/program.js',
  'playwright/lib/runner/testRunner.js',
  'playwright/lib/runner/runner.js',
  'playwright/lib/transform/babelBundle.js',
  'playwright/lib/reporters/json.js',
  '@playwright/test/index.js',
];

/** What workerMain.js needs. Not that module itself: it loads the entry, which begins to talk at once. */
const workerModules = [
  'playwright-core/index.js',
  'playwright/lib/index.js',
  '@playwright/test/index.js',
  'playwright/lib/worker/fixtureRunner.js',
  'playwright/lib/worker/testInfo.js',
  'playwright/lib/worker/timeoutManager.js',
  'playwright/lib/worker/util.js',
  'playwright/lib/common/configLoader.js',
  'playwright/lib/common/poolBuilder.js',
  'playwright/lib/common/suiteUtils.js',
  'playwright/lib/common/testLoader.js',
  'playwright/lib/matchers/expect.js',
];

if (require.main === module) {
  let ready;
  process.on('message', async function begin({ entry, environment }) {
    process.off('message', begin);
    // It may be wanted before it has loaded; what is done ahead must be over when the script's own begins.
    await ready;
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    for (const [name, value] of Object.entries(environment)) process.env[name] = value;
    process.chdir(environment.PICKET_DIRECTORY);
    process.argv = [process.argv[0], entry];
    require(entry);
  });
  loadAll(process.argv[2], workerModules);
  // Without a browser the script opens its own, and learns what is wrong.
  ready = process.argv[3] === 'ahead' ? useAhead(process.argv[2]).catch(() => undefined) : Promise.resolve();
  ready.then(() => process.send('loaded'));
}

async function useAhead(modulesDirectory) {
  useFixtures(modulesDirectory);
  const browserArgs = process.env.PICKET_BROWSER_AHEAD;
  if (browserArgs === undefined) await useRequests(modulesDirectory);
  else await openBrowser(JSON.parse(browserArgs));
}

async function openBrowser(args) {
  const { chromium } = require(path.join(process.argv[2], 'playwright-core'));
  const { launch } = chromium;
  await launchAhead(chromium, launch.original ?? launch, args);
}

/** Sends a request to a server of our own and records it, with Playwright's own functions, not observed: it is not the script's. */
async function useRequests(modulesDirectory) {
  const { request } = require(path.join(modulesDirectory, 'playwright-core'));
  const { newContext } = request;
  const server = http.createServer((_request, response) => response.end('ahead'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const context = await (newContext.original ?? newContext).call(request);
  try {
    await traceAhead(context, () => context.get(`http://127.0.0.1:${server.address().port}/`));
  } finally {
    await context.dispose();
    server.close();
  }
}

module.exports = {
  forkAhead,
  endAhead,
  loadAll,
  useFixtures,
  useRequests,
  useTranslation,
  runnerModules,
  workerModules,
};
