'use strict';
/**
 * The program of every script run: `node launch.cjs MODULES [warm [BROWSER]]`. It reads one line of JSON, the job, from standard
 * input and becomes the run. Variables are part of the job instead of the environment, so that a warm process can load
 * modules before its script is known, and start the browser that is given as JSON.
 *
 * A job with `isPage` is not a script: its steps follow on standard input; see ../page/page-main.cjs.
 *
 * The job: token (see ../events.cjs), directory (of the script), privateDirectory (the agent's own files), entry,
 * sources (relative paths of the script and its files), variables, and the fields for playwright-config.cjs.
 */
const fs = require('node:fs');
const path = require('node:path');

const modulesDirectory = process.argv[2];
const isWarm = process.argv[3] === 'warm';
const warmBrowser = process.argv[4];
process.env.PICKET_MODULES = modulesDirectory;
require('../observers/preload.cjs');
const { sendLoaded, senderWith, describe } = require('../events.cjs');
const { hasTopLevelAwait, isTestMode, parse, withOwnHelpers } = require('../script-source.cjs');
const { preforkWorker, endWorker, loadAll, runnerModules } = require('./preforked-worker.cjs');
const EventReporter = require('./reporter.cjs');
const { giveBackWhileWaiting } = require('./waiting-memory.cjs');

let stopWaiting;
if (isWarm) {
  // The worker loads on another core. Its message is handled once this process has loaded everything, too.
  preforkWorker(modulesDirectory, {
    browser: warmBrowser === undefined ? undefined : JSON.parse(warmBrowser),
    onLoaded: sendLoaded,
  });
  loadAll(modulesDirectory, runnerModules);
  stopWaiting = giveBackWhileWaiting();
}

let line = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', function collect(chunk) {
  line += chunk;
  if (!line.includes('\n')) return;
  process.stdin.off('data', collect);
  stopWaiting?.();
  const end = line.indexOf('\n');
  const { token, ...given } = JSON.parse(line.slice(0, end));
  const rest = line.slice(end + 1);
  line = '';
  const job = { ...given, modulesDirectory };
  const send = senderWith(token);
  if (job.isPage) {
    endWorker();
    require('../page/page-main.cjs').startPage(job, rest, send);
    return;
  }
  process.stdin.destroy();
  start(job, send).catch((error) => {
    send({ event: 'broken', error: describe(error) });
    process.exit(70);
  });
});

async function start(job, send) {
  process.chdir(job.directory);
  const notes = path.join(job.privateDirectory, 'notes.ndjson');
  // Our own variables come last, so that variables of the same name cannot override them.
  const own = {
    PICKET_NOTES: notes,
    PICKET_MODULES: modulesDirectory,
    PICKET_DIRECTORY: job.directory,
    NODE_OPTIONS: `--require ${JSON.stringify(path.join(__dirname, '../observers/preload.cjs'))}`,
    PWTEST_CACHE_DIR: path.join(job.privateDirectory, 'cache'),
    ...job.ownVariables,
  };
  for (const [name, value] of Object.entries({ ...job.variables, ...own })) process.env[name] = value;
  const sources = job.sources.map((file) => fs.readFileSync(path.join(job.directory, file), 'utf8'));
  if (!isTestMode(sources)) {
    send({ event: 'mode', mode: 'plain' });
    endWorker();
    process.env.PICKET_EVIDENCE = path.join(job.privateDirectory, 'evidence');
    const { runPlainScript } = require('./plain-script.cjs');
    await runPlainScript(job, send);
    return;
  }
  send({ event: 'mode', mode: 'test' });
  EventReporter.equip(send);
  // The worker loads on another core while the runner does.
  if (!isWarm) preforkWorker(modulesDirectory, { browser: expectedBrowser(job) });
  const entry = testEntry(job);
  if (!hasModules(job, entry)) process.env.PW_DISABLE_TS_ESM = '1';
  process.env.PICKET_RUN = JSON.stringify({ ...job, entry, variables: undefined, sources: undefined });
  const config = path.join(__dirname, 'playwright-config.cjs');
  // Loaded before Playwright's transform is in place, which would rewrite it as it does with the files of the script.
  require(config);
  process.argv = [process.argv[0], 'playwright', 'test', '--config', config];
  require(path.join(job.modulesDirectory, '@playwright/test/cli.js'));
}

/** The browser that the tests will probably open, for early-browser.cjs. */
function expectedBrowser({ hasBrowser, browserArgs, earlyFolder, playwrightConfig: { use, projects } = {} }) {
  const isUsual = !projects && !use?.launchOptions && !use?.browserName && !use?.channel;
  return hasBrowser && isUsual ? { args: browserArgs, folder: earlyFolder } : undefined;
}

/**
 * Returns the file for Playwright. Playwright converts ES modules to CommonJS, which does not support top-level await;
 * a script that uses it gets the extension of an ES module, and a `require` function if it uses that as well.
 */
function testEntry(job) {
  const { dir, name, ext } = path.parse(job.entry);
  if (!/^\.(ts|js|tsx|jsx)$/.test(ext)) return job.entry;
  const file = path.join(job.directory, job.entry);
  const source = fs.readFileSync(file, 'utf8');
  if (!/\bawait\b/.test(source) || !isModuleOnly(job, source)) return job.entry;
  const entry = path.join(dir, `${name}${ext.startsWith('.t') ? '.mts' : '.mjs'}`);
  const requireText = /\brequire\s*\(/.test(source)
    ? "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url); "
    : '';
  fs.writeFileSync(path.join(job.directory, entry), requireText + withOwnHelpers(source));
  fs.rmSync(file);
  return entry;
}

/**
 * Whether a run has ES modules among its own files. Only for those does Playwright need a thread that loads its whole
 * transform again, in each of its processes: a second of work, and half of the memory.
 */
function hasModules(job, entry) {
  const sources = [entry, ...job.sources];
  if (sources.some((file) => /\.m[jt]s$/.test(file))) return true;
  const folders = new Set();
  for (const file of sources) {
    for (let folder = path.dirname(file); !folders.has(folder); folder = path.dirname(folder))
      folders.add(folder);
  }
  return [...folders].some((folder) => isModulePackage(path.join(job.directory, folder, 'package.json')));
}

function isModulePackage(manifest) {
  let text;
  try {
    text = fs.readFileSync(manifest, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
  // Playwright reports invalid JSON.
  return /"type"\s*:\s*"module"/.test(text);
}

function isModuleOnly(job, source) {
  try {
    return hasTopLevelAwait(parse(job.modulesDirectory, source));
  } catch (error) {
    // Playwright reports the position of the error.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
