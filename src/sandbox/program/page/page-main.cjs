'use strict';
/**
 * A browser with one page that does what the agent asks for, step by step. It reads JSON lines from standard input,
 * `{id, tool, input}`, and answers each with one line on descriptor 3. One step runs at a time.
 */
const path = require('node:path');
const { describe } = require('../events.cjs');
const { startGuard } = require('./guard-proxy.cjs');
const { PageTools, kindOf, firstLine } = require('./page-tools.cjs');

/**
 * @param job modulesDirectory, directory, browserArgs, ownVariables, origins, proxy.
 * @param rest what has come of standard input after the job.
 * @param send writes to the agent.
 */
async function runPage(job, rest, send) {
  process.chdir(job.directory);
  for (const [name, value] of Object.entries(job.ownVariables)) process.env[name] = value;
  const { chromium } = require(path.join(job.modulesDirectory, 'playwright-core'));
  const guard = await startGuard(job.origins, job.proxy);
  const browser = await chromium.launch({
    headless: true,
    args: job.browserArgs,
    // Chromium goes around proxies to addresses of its own host unless this asks it not to.
    proxy: { server: guard.url, bypass: '<-loopback>' },
  });
  const context = await browser.newContext({
    acceptDownloads: false,
    serviceWorkers: 'block',
    viewport: { width: 1280, height: 800 },
  });
  const tools = new PageTools({ context, guard, directory: job.directory });
  await tools.begin();
  send({ event: 'ready' });

  let turn = Promise.resolve();
  readLines(rest, (line) => {
    const { id, tool, input } = JSON.parse(line);
    turn = turn.then(async () => {
      try {
        send({ event: 'answer', id, ok: await tools.run(tool, input) });
      } catch (error) {
        const refused = guard.takeRefused();
        send({ event: 'answer', id, error: { kind: kindOf(error), message: firstLine(error), refused } });
      }
    });
  });
}

/** Calls back with every line of standard input. */
function readLines(rest, onLine) {
  let pending = rest;
  const take = (text) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop();
    for (const line of lines) onLine(line);
  };
  take('');
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', take);
  process.stdin.on('end', () => process.exit(0));
}

/** @param rest see `runPage`. */
function startPage(job, rest, send) {
  runPage(job, rest, send).catch((error) => {
    send({ event: 'broken', error: describe(error) });
    process.exit(70);
  });
}

module.exports = { startPage };
