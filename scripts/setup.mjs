// Makes the checkout ready and runs one of its scripts with the right Node: `node scripts/setup.mjs SCRIPT [ARGS…]`.
//
// This is the only file that must run on whatever Node the machine has, and before anything is installed. It installs
// the locked dependencies when they are missing or out of date (which brings Node 24 itself, as an optional dependency
// with the real binary) and then hands over to that Node.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.picket-setup');

const [script, ...args] = process.argv.slice(2);
if (!script) {
  console.error('usage: node scripts/setup.mjs SCRIPT [ARGS...]');
  process.exit(2);
}

const stamp = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  await install();
  writeFileSync(stampFile, stamp);
}
process.exitCode = await run(rightNode(), [join(root, script), ...args]);

/** Installs what package-lock.json names, showing how far it is. Install scripts of packages are not run. */
async function install() {
  const packages = Object.entries(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages);
  const total = packages.filter(([path, info]) => isTopLevel(path) && !isForOtherMachine(info)).length;
  const startedAt = Date.now();
  const isTerminal = process.stderr.isTTY === true;
  let shown = -1;
  const show = (isDone = false) => {
    const done = isDone ? total : Math.min(countInstalled(), total);
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    if (isTerminal) {
      const width = 30;
      const filled = Math.round((done / total) * width);
      const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
      process.stderr.write(`\r  installing  ${bar}  ${done} of ${total} packages, ${seconds} s `);
    } else if (done !== shown) {
      process.stderr.write(`  installing: ${done} of ${total} packages, ${seconds} s\n`);
      shown = done;
    }
  };
  process.stderr.write('Setting up: locked dependencies and Node 24 from the npm registry (once)\n');
  const timer = setInterval(() => show(), isTerminal ? 200 : 2000);
  const output = [];
  const [npm, ...npmArgs] = npmCommand();
  const code = await run(
    npm,
    [...npmArgs, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    (text) => output.push(text),
  );
  clearInterval(timer);
  if (code !== 0) {
    process.stderr.write(
      `\n${output.join('')}\nThe installation failed (npm exit code ${code}); see npm's message above.\n`,
    );
    process.exit(1);
  }
  show(true);
  const skipped = await buildRawSocket();
  if (skipped !== undefined) {
    process.stderr.write(
      `${isTerminal ? '\n' : ''}  raw-socket is not built, so pings have one way less: ${skipped}\n`,
    );
  }
  process.stderr.write(
    `${isTerminal ? '\n' : ''}  installed in ${Math.round((Date.now() - startedAt) / 1000)} s\n`,
  );
}

/**
 * Compiles the addon of raw-socket, which the net-ping backend of ICMP checks needs, against the headers of the Node that
 * will load it. Whoever has no compiler does without it.
 *
 * @returns why it was not built, or undefined.
 */
async function buildRawSocket() {
  const folder = join(modules, 'raw-socket');
  if (!existsSync(folder)) return undefined;
  const missing = [];
  for (const [program, ...others] of [['make'], ['g++', 'c++', 'clang++'], ['python3', 'python']]) {
    if (![program, ...others].some(isInPath)) missing.push(program);
  }
  if (missing.length > 0) return `no ${missing.join(', ')}`;
  const nodeDir = nodeDirs().find((dir) => existsSync(join(dir, 'include', 'node', 'node.h')));
  if (nodeDir === undefined) return 'no headers of this Node';
  const nodeGyp = nodeGypPaths().find((file) => existsSync(file));
  if (nodeGyp === undefined) return 'no node-gyp, which comes with npm';
  const output = [];
  const collect = (text) => output.push(text);
  // A setting in npm's environment counts for more than an argument, and may lead to the headers of another Node.
  const settings = { npm_config_nodedir: nodeDir, npm_package_config_node_gyp_nodedir: nodeDir };
  const code = await run(rightNode(), [nodeGyp, 'rebuild', `--directory=${folder}`], collect, settings);
  // What was compiled for another Node fails only when it is loaded.
  if (code === 0 && (await run(rightNode(), ['-e', `require(${JSON.stringify(folder)})`], collect)) === 0) {
    return undefined;
  }
  const errors = output
    .join('')
    .split('\n')
    .filter((line) => /error|ERR!/i.test(line));
  return errors[0]?.trim() ?? `node-gyp ended with ${code}`;
}

/** Where the headers of the Node that runs Picket may be: its package brings them. */
function nodeDirs() {
  const locked = join(modules, `node-${process.platform}-${process.arch}`);
  return existsSync(join(modules, '.bin', 'node')) ? [locked] : [join(dirname(process.execPath), '..')];
}

function nodeGypPaths() {
  const npmFolders = [
    join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm'),
    '/usr/share/nodejs/npm',
  ];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) npmFolders.unshift(join(dirname(npm), '..'));
  const file = join('node_modules', 'node-gyp', 'bin', 'node-gyp.js');
  return [...npmFolders.map((folder) => join(folder, file)), '/usr/share/nodejs/node-gyp/bin/node-gyp.js'];
}

function isInPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function isTopLevel(path) {
  return path.startsWith('node_modules/') && !path.slice('node_modules/'.length).includes('node_modules/');
}

function isForOtherMachine(info) {
  const excludes = (list, value) => Array.isArray(list) && !list.includes(value);
  const isMusl = Array.isArray(info.libc) && !info.libc.includes('glibc');
  return excludes(info.os, process.platform) || excludes(info.cpu, process.arch) || isMusl;
}

function countInstalled() {
  if (!existsSync(modules)) return 0;
  let count = 0;
  for (const name of readdirSync(modules)) {
    if (name.startsWith('.')) continue;
    try {
      const paths = name.startsWith('@')
        ? readdirSync(join(modules, name)).map((n) => join(name, n))
        : [name];
      // npm makes all folders first; a package is there once its manifest is.
      count += paths.filter((path) => existsSync(join(modules, path, 'package.json'))).length;
    } catch (error) {
      // npm may move a folder away between the two reads; the next look counts it.
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    }
  }
  return count;
}

/** The npm that started us, or else the one in PATH. */
function npmCommand() {
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
}

/** The locked Node where its package exists (Linux on x64 and arm64), else the present one if it is new enough. */
function rightNode() {
  const locked = join(modules, '.bin', 'node');
  if (existsSync(locked)) return locked;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major === 24 && minor >= 15) return process.execPath;
  console.error(
    `Picket needs Node 24.15 or a later 24; this is ${process.versions.node}, and there is no locked Node for ` +
      `${process.platform}-${process.arch}. Install Node 24 and try again.`,
  );
  process.exit(1);
}

/** Runs a command in the foreground; our own signals are passed on, and we end when it ends. */
function run(command, commandArgs, onOutput, variables = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArgs, {
      stdio: onOutput ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      ...(onOutput ? { cwd: root } : {}),
      env: {
        ...process.env,
        PATH: `${join(modules, '.bin')}${delimiter}${process.env.PATH ?? ''}`,
        ...variables,
      },
    });
    child.stdout?.on('data', (data) => onOutput(String(data)));
    child.stderr?.on('data', (data) => onOutput(String(data)));
    const ignore = () => {
      // A terminal sends SIGINT to the whole group, so the child has it already; SIGTERM comes to us alone.
    };
    const passOn = () => child.kill('SIGTERM');
    process.on('SIGINT', ignore);
    process.on('SIGTERM', passOn);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGINT', ignore);
      process.off('SIGTERM', passOn);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 143));
    });
  });
}
