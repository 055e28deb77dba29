'use strict';
/**
 * Starts the browser of a run before its script asks for it: while modules load, and in a warm process before there is a
 * script. Playwright gets it when it spawns the same program with the same arguments; to Playwright it is an ordinary
 * browser that starts faster. In any unexpected case (other arguments, an updated program, a dead browser) it is ended,
 * and Playwright spawns one as usual.
 *
 * It is a browser of this run alone, in its sandbox: no run gets a browser that another one has used.
 */
const childProcess = require('node:child_process');
const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const { spawn } = childProcess;
/** Time limit for the launch that tells the arguments, in milliseconds. */
const maxRehearsalMs = 5000;
const profileFlag = '--user-data-dir=';
/** Variables that programs like Chromium and its libraries read. */
const readNames =
  /^(?:HOME|TMPDIR|TZ|LANG|LANGUAGE|DISPLAY|SSLKEYLOGFILE|(?:LC|LD|FONTCONFIG|FC|XDG|CHROME|CHROMIUM|GOOGLE|SSL|NSS|DBUS|MALLOC|GTK|GDK|GIO|GLIBC)_.*|.*_proxy)$/i;

/** Receives the next spawn of a browser instead of the system. */
let rehearse;
let early;

/** Call before Playwright loads: its older versions copy the function. */
function watchLaunches() {
  childProcess.spawn = function spawnOrHandOver(...given) {
    const [command, args, options] = given;
    if (!isBrowser(args, options)) return spawn.apply(this, given);
    if (rehearse) return rehearse(command, args, options);
    return handOver(command, args, options) ?? spawn.apply(this, given);
  };
}

/** Playwright speaks with its Chromium through descriptors 3 and 4. */
function isBrowser(args, options) {
  return Array.isArray(args) && args.includes('--remote-debugging-pipe') && Array.isArray(options?.stdio);
}

/**
 * Starts the browser. Its arguments depend on the version of Playwright, so Playwright launches one: the attempt fails
 * once they are known.
 *
 * @param chromium Playwright's.
 * @param wanted.args arguments that the run adds to those of Playwright.
 * @param wanted.folder for the files of both. Created if missing. Playwright, which looks for tests meanwhile and fails if a folder is gone,
 *   must not look there.
 */
async function startEarly(chromium, { args, folder }) {
  fs.mkdirSync(folder, { recursive: true });
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  rehearse = (command, given, options) => {
    rehearse = undefined;
    early = begin(command, given, { ...options, env: { ...options.env, TMPDIR } }, folder);
    const none = new EventEmitter();
    process.nextTick(() => none.emit('error', new Error('it was started early')));
    return none;
  };
  try {
    await chromium.launch({ args, timeout: maxRehearsalMs });
  } catch {
    // As intended, or a reason that the launch of the script will report.
  } finally {
    rehearse = undefined;
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
}

function begin(command, args, options, folder) {
  // Playwright removes its own after the failed attempt.
  const profile = fs.mkdtempSync(path.join(folder, 'profile-'));
  const own = args.map((arg) => (arg.startsWith(profileFlag) ? profileFlag + profile : arg));
  const child = spawn(command, own, options);
  child.on('error', () => undefined); // it has no process id, and is not handed over
  setKeepsAlive(child, 'unref');
  return { child, key: keyOf(command, args, options), file: fileOf(command) };
}

/** A browser that waits must not keep this process alive. @param how `ref` or `unref`. */
function setKeepsAlive(child, how) {
  child[how]();
  for (const stream of child.stdio) stream?.[how]?.();
}

/** Key of a launch: one with the same key gets the browser. */
function keyOf(command, args, { stdio, detached, cwd, env = process.env }) {
  const variables = Object.entries(env).filter(
    ([name, value]) => readNames.test(name) && value !== undefined,
  );
  return JSON.stringify([
    command,
    args.map((arg) => (arg.startsWith(profileFlag) ? profileFlag : arg)),
    stdio,
    detached,
    cwd,
    variables.sort(([left], [right]) => (left < right ? -1 : 1)),
  ]);
}

/** Identifies the program: an update may have replaced it. */
function fileOf(command) {
  try {
    const { ino, mtimeMs, size } = fs.statSync(command);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return undefined; // the launch reports that it is missing
  }
}

function handOver(command, args, options) {
  const { child, key, file } = early ?? {};
  if (!child) return undefined;
  const isAlive = child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  if (!isAlive || key !== keyOf(command, args, options) || file !== fileOf(command)) {
    endEarly();
    return undefined;
  }
  early = undefined;
  setKeepsAlive(child, 'ref');
  return child;
}

/** Ends a browser that is not needed. */
function endEarly() {
  const { child } = early ?? {};
  early = undefined;
  if (child?.pid === undefined) return;
  try {
    // It leads a group of its own.
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

module.exports = { watchLaunches, startEarly, endEarly };
