/**
 * Makes the compiled code of a runtime's modules, which its scripts read (compiled-code.cjs): `node compile-modules.mjs
 * MODULES [CHROMIUM]`. Use the Node and the path of the modules that scripts will use. It runs two samples as a script
 * is run, so that exactly the functions that scripts need are compiled: with the path of a browser also those that open
 * one. Does nothing if those of this Node and this version of Picket are there.
 *
 * Only for the operator, on a runtime that no script could change.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const { compiledFolder, isCurrent, readCompiled, roles, writeCompiled } = createRequire(import.meta.url)(
  './compiled-code.cjs',
);
const launchProgram = join(import.meta.dirname, 'run/launch.cjs');
const rounds = 2;
const recordsName = 'records';
const sampleTimeoutMs = 60_000;

const [given, executablePath] = process.argv.slice(2);
if (given === undefined) {
  console.error('usage: node compile-modules.mjs MODULES [CHROMIUM]');
  process.exit(2);
}
const modules = realpathSync(given);
const folder = compiledFolder(modules);
if (!isCurrent(modules)) make();

function make() {
  const place = mkdtempSync(join(tmpdir(), 'picket-compile-'));
  // Next to its final place, so that it appears there as a whole.
  const aside = join(modules, `.picket-compiled-${process.pid}`);
  try {
    mkdirSync(aside);
    // Modules that only unused ones use are known once those are not loaded.
    for (let round = 1; round <= rounds; round += 1) {
      const folders = Object.entries(samples()).map(([entry, source]) => {
        const folder = join(place, `${round}-${entry.replaceAll('.', '-')}`);
        runSample(folder, aside, entry, source);
        return join(folder, recordsName);
      });
      for (const role of roles) {
        const file = join(aside, role);
        const compiled = joined(folders.map((folder) => recordsOf(folder, role)));
        if (compiled.size === 0) {
          console.error(`No code was compiled for ${given}: scripts compile their modules in each run`);
          return;
        }
        const before = existsSync(file) ? readCompiled(file) : new Map();
        writeCompiled(file, new Map([...before, ...compiled]));
        chmodSync(file, 0o644);
      }
    }
    chmodSync(aside, 0o755);
    // Code of another version of Node would never be read again.
    rmSync(dirname(folder), { recursive: true, force: true });
    mkdirSync(dirname(folder), { mode: 0o755 });
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
    rmSync(place, { recursive: true, force: true });
  }
}

/**
 * Of each module, the code of that process which called most of its functions.
 *
 * @param samples the records of each sample; whether a module is unused is decided by the first one that loads it.
 */
function joined(samples) {
  const modules = new Map();
  for (const records of samples) {
    const earlier = new Set(modules.keys());
    for (const [name, one] of records.flatMap((record) => [...record])) {
      const other = modules.get(name) ?? one;
      const unused = earlier.has(name) ? other.unused : one.unused && other.unused;
      modules.set(name, { ...(one.length > other.length ? one : other), unused });
    }
  }
  return modules;
}

function recordsOf(folder, role) {
  return readdirSync(folder)
    .filter((name) => name.startsWith(role))
    .map((name) => readCompiled(join(folder, name)));
}

/** One for Playwright Test, and one without, in which more modules may be loaded late. */
function samples() {
  const request = `const server = require('node:http').createServer((_, answer) => answer.end('{"isSample":true}')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = 'http://127.0.0.1:' + server.address().port + '/';`;
  const options = JSON.stringify({ executablePath });
  const page = `await page.goto(url);
    await page.locator('body').click();
    await page.getByRole('document').isVisible();
    await page.evaluate(() => document.title);
    await page.screenshot();`;
  const hasBrowser = executablePath !== undefined;
  return {
    'sample.spec.ts': `import { expect, test } from '@playwright/test';
      ${hasBrowser ? `test.use({ launchOptions: ${options} });` : ''}
      test('sample', async ({ ${hasBrowser ? 'page, ' : ''}request }) => {
        ${request}
        await test.step('step', async () => { expect((await request.get(url)).status()).toBe(200); });
        ${hasBrowser ? `${page} await expect(page.locator('body')).toContainText('isSample');` : ''}
        server.close();
      });`,
    'sample.js': `const { chromium, request } = require('playwright');
      ${request}
      const api = await request.newContext();
      await api.get(url);
      await api.dispose();
      ${
        hasBrowser
          ? `const browser = await chromium.launch(${options}); const page = await browser.newPage(); ${page} await browser.close();`
          : ''
      }
      server.close();`,
  };
}

/** A sample that fails has compiled what it reached. */
function runSample(directory, before, entry, source) {
  const privateDirectory = join(directory, '.picket');
  const records = join(directory, recordsName);
  mkdirSync(privateDirectory, { recursive: true });
  mkdirSync(records);
  symlinkSync(modules, join(directory, 'node_modules'));
  writeFileSync(join(directory, entry), source);
  const job = {
    token: 'sample',
    directory,
    privateDirectory,
    entry,
    sources: [entry],
    variables: {},
    ownVariables: {},
    hasBrowser: executablePath !== undefined,
    isVideoPossible: false,
    browserArgs: [],
    earlyFolder: join(privateDirectory, 'node_modules'),
    playwrightConfig: {},
    updatesSnapshots: false,
    testTimeoutMs: sampleTimeoutMs / 2,
    globalTimeoutMs: sampleTimeoutMs / 2,
  };
  spawnSync(process.execPath, [launchProgram, modules], {
    cwd: directory,
    // Nothing of the operator's: the packages of the runtime run here.
    env: {
      HOME: directory,
      PATH: '/usr/local/bin:/usr/bin:/bin',
      PICKET_RECORDS: records,
      PICKET_RECORDS_BEFORE: before,
    },
    input: `${JSON.stringify(job)}\n`,
    // Descriptor 3 is for events.
    stdio: ['pipe', 'ignore', 'ignore', 'ignore'],
    timeout: sampleTimeoutMs,
    killSignal: 'SIGKILL',
  });
}
