/**
 * Installs packages for the scripts of checks: `npm run runtimes:install [id…]`; the default is the newest runtime.
 * `all` installs every runtime; `node-22` is for suites that ask for it; `chromium` is a browser for hosts that have none; `package-managers` install Playwright
 * suites. Each is installed with `npm ci` from its lockfile, without install scripts, in a temporary folder, which is
 * then renamed to its node_modules: an agent that starts meanwhile sees all of it or nothing. Existing installations
 * are left alone. Then the modules that scripts load are compiled ahead, for the Node that runs this; `--no-compile`
 * leaves that out.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { BrowserMissing, findBrowser } from '../src/sandbox/browsers/find-browser.ts';
import { unpackChromium, unpackedChromiumPath } from '../src/sandbox/browsers/unpacked-chromium.ts';

const root = join(import.meta.dirname, '..', 'runtimes');
const stampName = '.picket-installed';
const known = readdirSync(root)
  .filter((name) => !name.startsWith('.') && existsSync(join(root, name, 'package-lock.json')))
  .sort();

process.exitCode = await main(process.argv.slice(2));

async function main(given: readonly string[]): Promise<number> {
  const args = given.filter((argument) => argument !== '--no-compile');
  const newest = known.filter((id) => isRuntime(id)).at(-1);
  const wanted = args.includes('all')
    ? known.filter((id) => isRuntime(id))
    : args.length > 0
      ? args
      : newest
        ? [newest]
        : [];
  const unknown = wanted.filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    console.error(`There is no runtime ${unknown.join(', ')}; there are: ${known.join(', ')}, all`);
    return 2;
  }
  for (const id of wanted) {
    const code = await install(id);
    if (code !== 0) return code;
    if (isRuntime(id) && args.length === given.length) await compileModules(id);
  }
  return 0;
}

/** Does nothing if it was done. Without it each run compiles its modules itself. */
async function compileModules(id: string): Promise<void> {
  const program = join(root, '..', 'src/sandbox/program/compile-modules.mjs');
  const browser = await findBrowser({
    chromiumPath: process.env.CHROMIUM_PATH,
    unpackedPath: unpackedChromiumPath(root),
  }).catch((thrown: unknown) => {
    if (thrown instanceof BrowserMissing) return undefined;
    throw thrown;
  });
  const args = [program, join(root, id, 'node_modules'), ...(browser ? [browser.executablePath] : [])];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  await once(child, 'close');
}

async function install(id: string): Promise<number> {
  const directory = join(root, id);
  const modules = join(directory, 'node_modules');
  const stampFile = join(modules, stampName);
  const stamp = wantedStamp(directory);
  const isInstalled = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
  if (isInstalled()) {
    console.log(`${title(id)} is installed.`);
    return 0;
  }
  const total = packageFolders(directory).length;
  console.log(`Installing ${title(id)}: ${total} packages from the npm registry (once)`);
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1000);
  // Next to the others: their lockfiles refer to our own package by a relative path.
  const aside = join(root, `.new-${id}-${process.pid}`);
  mkdirSync(aside);
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(directory, name), join(aside, name));
  const timer = setInterval(() => {
    const done = packageFolders(directory).filter((path) => existsSync(join(aside, path, 'package.json')));
    console.log(`  ${done.length} of ${total} packages, ${seconds()} s`);
  }, 3000);
  try {
    const { code, output } = await npmCi(aside);
    if (code !== 0) {
      console.error(`${output}\n${title(id)} could not be installed (npm exit code ${code}).`);
      return 1;
    }
    // An installation by another process may already be in use: keep it.
    if (!isInstalled()) {
      if (existsSync(modules)) renameSync(modules, join(aside, 'old'));
      renameSync(join(aside, 'node_modules'), modules);
    }
  } finally {
    clearInterval(timer);
    rmSync(aside, { recursive: true, force: true });
  }
  if (id === 'chromium') await unpackChromium(root);
  writeFileSync(stampFile, stamp);
  console.log(`  installed in ${seconds()} s`);
  return 0;
}

function isRuntime(id: string): boolean {
  return /^\d{4}\.\d{2}$/.test(id);
}

function title(id: string): string {
  if (isRuntime(id)) return `Runtime ${id}`;
  if (id.startsWith('node-')) return `Node ${id.slice(5)}`;
  return id === 'chromium' ? 'Chromium' : 'package managers';
}

/** Stamp of an installation's sources: the lockfile, and our own package, which is copied into it. */
function wantedStamp(directory: string): string {
  const hash = createHash('sha256').update(readFileSync(join(directory, 'package-lock.json')));
  const own = join(root, 'playwright-helpers');
  for (const name of readdirSync(own).sort()) hash.update(name).update(readFileSync(join(own, name)));
  return hash.digest('hex');
}

function packageFolders(directory: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, unknown>>;
  };
  return Object.keys(packages).filter((path) => path.startsWith('node_modules/'));
}

/** Runs `npm ci` in a folder, with the npm that started this program or the one in PATH. */
function npmCi(directory: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const started = process.env.npm_execpath;
  const [command, first] = started?.endsWith('.js') ? [process.execPath, [started]] : ['npm', []];
  const args = ['ci', '--ignore-scripts', '--install-links', '--no-audit', '--no-fund', '--loglevel=error'];
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...environmentWithoutNpm(),
        PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
      },
    });
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      output += data;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

/** The environment without variables that npm sets for its scripts: they refer to another folder. */
function environmentWithoutNpm(): NodeJS.ProcessEnv {
  const isOurs = (name: string) =>
    /^npm_(package_|lifecycle_|command$|config_local_prefix$|config_prefix$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)));
}
