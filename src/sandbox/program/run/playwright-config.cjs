'use strict';
/** The configuration of every run in test mode. It is read in the runner and again in its worker. */
const path = require('node:path');

const run = JSON.parse(process.env.PICKET_RUN ?? '{}');

module.exports = {
  testDir: run.directory,
  testMatch: `**/${run.entry}`,
  outputDir: path.join(run.privateDirectory, 'output'),
  snapshotDir: path.join(run.directory, '__snapshots__'),
  workers: 1,
  retries: 0,
  fullyParallel: false,
  forbidOnly: false,
  timeout: run.testTimeoutMs,
  globalTimeout: run.globalTimeoutMs,
  reporter: [
    [path.join(__dirname, 'reporter.cjs')],
    ['json', { outputFile: path.join(run.privateDirectory, 'report.json') }],
  ],
  use: {
    trace: 'on',
    screenshot: run.hasBrowser ? 'only-on-failure' : 'off',
    video: run.isVideoPossible ? 'retain-on-failure' : 'off',
    ...(run.proxy ? { proxy: run.proxy } : {}),
    ...(run.hasBrowser ? { launchOptions: { args: run.browserArgs } } : {}),
  },
};
