// Makes the checkout ready and runs one of its scripts with the right Node: `node scripts/setup.mjs [NODE_OPTIONS…] SCRIPT [ARGS…]`.
//
// This is the only file that must run on any Node, before anything is installed. It installs the locked dependencies when they
// are missing or out of date (one of them is Node 24 itself) and then hands over to that Node.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const lockedNode = join(modules, '.bin', 'node');
const path = `${join(modules, '.bin')}${delimiter}${process.env.PATH ?? ''}`;

const given = process.argv.slice(2);
const [script, ...args] = given.slice(given.findIndex((one) => !one.startsWith('--')));
if (!script || script.startsWith('--'))
  fail('usage: node scripts/setup.mjs [NODE_OPTIONS...] SCRIPT [ARGS...]', 2);
const options = given.slice(0, given.indexOf(script));

const lock = readFileSync(join(root, 'package-lock.json'));
const stamp = createHash('sha256').update(lock).digest('hex');
const stampFile = join(modules, '.picket-setup');
/** The process id of the installer. Not in node_modules, which npm removes. */
const turnFile = join(root, '.picket-setup.lock');
if (!isReady()) {
  takeTurn();
  try {
    if (!isReady()) install();
  } finally {
    rmSync(turnFile, { force: true });
  }
}
const child = spawn(node(), [...options, join(root, script), ...args], {
  stdio: 'inherit',
  // Commands share compiled code through this cache.
  env: { NODE_COMPILE_CACHE: join(modules, '.cache', 'compiled'), ...process.env, PATH: path },
});
// A terminal sends SIGINT to the whole group, so the child gets it, too; SIGTERM is sent only to this process.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('close', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});

function isReady() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
}

function install() {
  process.stderr.write('Installing the locked dependencies and Node 24 (once)\n');
  if (npm(['ci', '--ignore-scripts'], 'inherit').status !== 0) {
    rmSync(turnFile, { force: true });
    fail('The installation failed; see npm above.', 1);
  }
  linkNode();
  buildRawSocket();
  writeFileSync(stampFile, stamp);
}

/** Waits until no other npm command installs in this checkout: two at once delete each other's files. */
function takeTurn() {
  let isTold = false;
  for (;;) {
    try {
      writeFileSync(turnFile, String(process.pid), { flag: 'wx' });
      // Another process may have mistaken our file for that of the dead one while it waited: the last writer has the
      // turn.
      pause(100);
      if (installer() === String(process.pid)) return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const other = installer();
      if (other !== '' && !isAlive(Number(other))) rmSync(turnFile, { force: true });
      else {
        if (!isTold)
          process.stderr.write(
            `Another npm command (process ${other}) installs here; waiting for it. If there is none, remove ${turnFile}\n`,
          );
        isTold = true;
        pause(200);
      }
    }
  }
}

function installer() {
  try {
    return readFileSync(turnFile, 'utf8');
  } catch {
    return ''; // its installation is done
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** npm 10 and older install the package of the locked Node without its link in `.bin`. */
function linkNode() {
  const name = `node-${process.platform}-${process.arch}`;
  if (existsSync(lockedNode) || !existsSync(join(modules, name, 'bin', 'node'))) return;
  mkdirSync(dirname(lockedNode), { recursive: true });
  symlinkSync(join('..', name, 'bin', 'node'), lockedNode);
}

/**
 * Builds the addon for the net-ping backend of ICMP checks, for the Node that will load it: its package has the
 * headers.
 */
function buildRawSocket() {
  const headers = existsSync(lockedNode)
    ? join(modules, `node-${process.platform}-${process.arch}`)
    : join(dirname(process.execPath), '..');
  // node-gyp prefers npm settings from the environment over those of the command line.
  const settings = { npm_config_nodedir: headers, npm_package_config_node_gyp_nodedir: headers };
  process.stderr.write('Compiling raw-socket for ICMP checks (some seconds, once)\n');
  const { status } = npm(['rebuild', 'raw-socket', `--nodedir=${headers}`], 'ignore', settings);
  if (status !== 0)
    process.stderr.write(
      'raw-socket is not built (it needs g++, make and python3); ICMP checks do without it\n',
    );
}

/** Runs the npm that started this program, or the one in PATH. */
function npm(npmArgs, stdio, settings = {}) {
  const started = process.env.npm_execpath;
  const [command, ...first] = started?.endsWith('.js') ? [process.execPath, started] : ['npm'];
  return spawnSync(command, [...first, ...npmArgs, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', stdio, stdio],
    env: { ...process.env, PATH: path, ...settings },
  });
}

/** The locked Node if its package exists (Linux on x64 and arm64), otherwise the current one if it is new enough. */
function node() {
  if (existsSync(lockedNode)) return lockedNode;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major === 24 && minor >= 15) return process.execPath;
  return fail(
    `Picket needs Node 24.15 or a later 24. This is ${process.versions.node}, and npm has not installed the package ` +
      `node-${process.platform}-${process.arch}, which brings the right one (Linux on x64 and arm64; with optional ` +
      'dependencies). Install Node 24, or let npm install optional dependencies, and try again.',
    1,
  );
}

function fail(message, code) {
  console.error(message);
  process.exit(code);
}
