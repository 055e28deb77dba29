'use strict';
/**
 * A browser with one page that executes the agent's steps. It reads JSON lines from standard input, `{id, tool,
 * input}`, and answers each with one line on descriptor 3. One step runs at a time.
 */
const path = require('node:path');
const { describe } = require('../events.cjs');
const { startGuard } = require('./guard-proxy.cjs');
const { PageTools, kindOf, firstLine } = require('./page-tools.cjs');

/**
 * @param job modulesDirectory, directory, browserArgs, ownVariables, origins, proxy.
 * @param rest data from standard input after the job.
 * @param send writes to the agent.
 */
async function runPage(job, rest, send) {
  const lines = linesFromStart(rest);
  process.chdir(job.directory);
  for (const [name, value] of Object.entries(job.ownVariables)) process.env[name] = value;
  const { chromium } = require(path.join(job.modulesDirectory, 'playwright-core'));
  const guard = await startGuard(job.origins, job.proxy);
  const browser = await chromium.launch({
    headless: true,
    args: job.browserArgs,
    // Playwright's handlers wait for a browser that is starting; ours end it with this process.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    // By default Chromium bypasses proxies for addresses of its own host.
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
  lines.take((line) => {
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

/**
 * Returns the lines of standard input, buffered until they are read. From now on this process ends with its agent or on
 * a signal, and its browser with it, even one that is starting: when a process exits, Playwright kills its children.
 */
function linesFromStart(rest) {
  let pending = rest;
  let onLine;
  const add = (text) => {
    pending += text;
    if (!onLine) return;
    const lines = pending.split('\n');
    pending = lines.pop();
    for (const line of lines) onLine(line);
  };
  for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })) {
    process.on(signal, () => process.exit(128 + number));
  }
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', add);
  process.stdin.on('end', () => process.exit(0));
  return {
    take: (callback) => {
      onLine = callback;
      add('');
    },
  };
}

/** @param rest see `runPage`. */
function startPage(job, rest, send) {
  runPage(job, rest, send).catch((error) => {
    send({ event: 'broken', error: describe(error) });
    process.exit(70);
  });
}

module.exports = { startPage };
