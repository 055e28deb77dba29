'use strict';
/** The configuration of every run in test mode. It is read in the runner and again in its worker. */
const path = require('node:path');

const run = JSON.parse(process.env.PICKET_RUN ?? '{}');

const own = run.playwrightConfig ?? {};

/** The browser of tests that choose none. */
function firstBrowser(options) {
  const [name = 'chromium'] = run.browserNames ?? [];
  const isChosen = ['browserName', 'defaultBrowserType', 'channel'].some((key) => key in options);
  if (!run.hasBrowser || isChosen || name === 'chromium') return {};
  return isChannel(name) ? { channel: name } : { browserName: name };
}

/** Options of a project: one that chooses a browser leaves the others' choice out. */
function combined(use = {}, own = {}) {
  const { browserName, channel, ...rest } = use;
  const isChosen = 'browserName' in own || 'channel' in own;
  return { ...(isChosen ? rest : use), ...own };
}

/** Whether a name is that of a browser which Playwright opens as a kind of Chromium. */
function isChannel(name) {
  return name === 'chrome' || name === 'msedge';
}

/** The agent's requirements come last: evidence, and the browser of this host. */
function useOf(use = {}) {
  const { launchOptions = {}, ...options } = use;
  const { executablePath: _path, channel: _channel, args = [], ...launch } = launchOptions;
  return {
    ...(run.proxy ? { proxy: run.proxy } : {}),
    ...firstBrowser(options),
    ...options,
    trace: 'on',
    screenshot: run.hasBrowser ? 'only-on-failure' : 'off',
    video: run.isVideoPossible ? 'retain-on-failure' : 'off',
    headless: true,
    ...(run.hasBrowser ? { launchOptions: { ...launch, args: [...args, ...run.browserArgs] } } : {}),
  };
}

module.exports = {
  testDir: run.directory,
  testMatch: `**/${run.entry}`,
  outputDir: path.join(run.privateDirectory, 'output'),
  // Next to the test file, as in the project it comes from.
  snapshotDir: run.directory,
  ...(run.updatesSnapshots ? { updateSnapshots: 'all' } : {}),
  workers: 1,
  retries: 0,
  fullyParallel: false,
  forbidOnly: false,
  timeout: own.timeout ?? run.testTimeoutMs,
  globalTimeout: run.globalTimeoutMs,
  ...(own.expect ? { expect: own.expect } : {}),
  reporter: [
    [path.join(__dirname, 'reporter.cjs')],
    ['json', { outputFile: path.join(run.privateDirectory, 'report.json') }],
  ],
  // Not both: Playwright would combine a channel from here with the browser of a project.
  ...(own.projects?.length > 0
    ? {
        projects: own.projects.map(({ use, ...project }) => ({
          ...project,
          use: useOf(combined(own.use, use)),
        })),
      }
    : { use: useOf(own.use) }),
};
