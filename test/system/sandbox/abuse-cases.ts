import type { SandboxEndReason, SandboxLimits } from '../../../src/sandbox/sandbox.ts';
import { kernelCases } from './abuse-kernel-cases.ts';

/** A program that tries something forbidden. */
export interface AbuseCase {
  readonly name: string;
  /**
   * JavaScript that runs in the sandbox. `attempt(what, action)` prints ESCAPED if the action succeeds; `given`
   * contains targets of attacks.
   */
  readonly code: string;
  /** It ends at once whether it succeeds or not: one process runs it and its neighbours in this list in sequence. */
  readonly isAttempt?: true;
  /** Allowed ends; default: `exited`, by itself. */
  readonly ends?: readonly SandboxEndReason[];
  /** Allowed ends where programs run as the agent's user, if they differ. */
  readonly endsAsSameUser?: readonly SandboxEndReason[];
  readonly limits?: Partial<SandboxLimits>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Text that the program must print, to prove that it got that far. */
  readonly prints?: string;
  /** Paths in the sandbox that the host must refuse to open. */
  readonly refusedFiles?: readonly string[];
  /** A path below which the host must refuse to write. */
  readonly refusedWrite?: string;
}

export const prelude = `
const fs = require('node:fs'), cp = require('node:child_process'), os = require('node:os');
const given = JSON.parse(process.argv[2]);
const attempt = (what, action) => { try { const got = action(); fs.writeSync(1, 'ESCAPED ' + what + ' ' + String(got).slice(0, 200) + '\\n'); } catch { fs.writeSync(1, 'blocked ' + what + '\\n'); } };
const say = (text) => fs.writeSync(1, text + '\\n');
const shell = (text) => { const r = cp.spawnSync('/bin/sh', ['-c', text], { encoding: 'utf8' }); if (r.status !== 0) throw new Error(r.stderr); return r.stdout; };
`;

const read = (what: string, path: string): AbuseCase => ({
  name: `reads ${what}`,
  isAttempt: true,
  code: `attempt('read', () => { const text = fs.readFileSync(${path}, 'utf8'); if (text === '' || !text.includes(given.canary)) throw new Error(); return text; }); say('tried')`,
  prints: 'tried',
});
const refused = (name: string, action: string): AbuseCase => ({
  name,
  isAttempt: true,
  code: `attempt('it', () => { ${action} })`,
  prints: 'blocked',
});

const megabyte = 1024 * 1024;

export const abuseCases: readonly AbuseCase[] = [
  // Secrets of the agent.
  read("the agent's environment", '"/proc/" + given.agentPid + "/environ"'),
  read("the parent's environment", '"/proc/" + process.ppid + "/environ"'),
  read("the first process's environment", '"/proc/1/environ"'),
  read('its own environment', '"/proc/self/environ"'),
  read('the key file', 'given.keyFile'),
  read('the key file through a working directory', '"/proc/" + given.agentPid + "/cwd/key"'),
  read('the key file through a root', '"/proc/" + given.agentPid + "/root" + given.keyFile'),
  read('a file of the spool', 'given.spool + "/entry"'),
  {
    name: 'scans all environments',
    isAttempt: true,
    code: `for (const pid of fs.readdirSync('/proc')) if (/^\\d+$/.test(pid)) { let text = ''; try { text = fs.readFileSync('/proc/' + pid + '/environ', 'utf8'); } catch {} if (text.includes(given.canary)) say('ESCAPED ' + pid); } say('scanned')`,
    prints: 'scanned',
  },
  {
    // Alone: it also reads what Node itself has written to a pipe.
    name: 'scans all open descriptors',
    code: `for (const pid of fs.readdirSync('/proc')) if (/^\\d+$/.test(pid)) { let names = []; try { names = fs.readdirSync('/proc/' + pid + '/fd'); } catch {} for (const name of names) { let text = ''; try { text = fs.readFileSync('/proc/' + pid + '/fd/' + name, { encoding: 'utf8', flag: fs.constants.O_NONBLOCK }); } catch {} if (text.includes(given.canary)) say('ESCAPED ' + pid + ' ' + name); } } say('scanned')`,
    prints: 'scanned',
  },
  {
    name: 'finds descriptors that were left open',
    isAttempt: true,
    code: `for (let fd = 4; fd < 64; fd++) { let to = ''; try { to = fs.readlinkSync('/proc/self/fd/' + fd); } catch {} if (to.startsWith('/') && !to.startsWith('/proc') && to !== '/dev/null') say('ESCAPED ' + fd + ' ' + to); } say('looked')`,
    prints: 'looked',
  },
  refused("opens the agent's memory", `fs.openSync('/proc/' + given.agentPid + '/mem', 'r')`),
  refused("lists the agent's descriptors", `fs.readdirSync('/proc/' + given.agentPid + '/fd')`),
  refused(
    'traces the agent',
    `const r = cp.spawnSync('perl', ['-e', 'exit(syscall(101, 16, ' + given.agentPid + ', 0, 0) == 0 ? 0 : 1)']); if (r.status !== 0) throw new Error()`,
  ),
  refused('lists the spool', `if (fs.readdirSync(given.spool).length === 0) throw new Error()`),
  refused('writes to the spool', `fs.writeFileSync(given.spool + '/planted', 'x')`),
  refused("writes to the agent's code", `fs.writeFileSync(given.runtime + '/planted.js', 'x')`),
  refused('replaces Node', `fs.appendFileSync(process.execPath, 'x')`),
  refused(
    "reads another slot's folder",
    `if (fs.readdirSync(given.otherSlot).length === 0) throw new Error()`,
  ),
  // Privileges.
  refused('becomes root', 'process.setuid(0)'),
  refused('joins a group', 'process.setgroups([0])'),
  refused('runs a set-user-id program', `shell('su -c id root </dev/null')`),
  refused('mounts', `shell('mount -t tmpfs tmpfs .')`),
  refused(
    'reads the key as root of its own user namespace',
    `const text = shell('unshare --user --map-root-user cat ' + given.keyFile); if (!text.includes(given.canary)) throw new Error()`,
  ),
  refused(
    'takes covers away in a namespace of its own',
    `const text = shell('unshare --user --map-root-user --mount sh -c "umount ' + given.keyFile + '; umount ' + given.spool + '; cat ' + given.keyFile + ' ' + given.spool + '/entry"'); if (!text.includes(given.canary)) throw new Error()`,
  ),
  refused('raises a limit', `shell('ulimit -c unlimited && ulimit -f unlimited')`),
  refused(
    'hides from the kernel that is out of memory',
    `fs.writeFileSync('/proc/self/oom_score_adj', '-1000')`,
  ),
  refused('sets a kernel parameter', `fs.writeFileSync('/proc/sys/kernel/core_pattern', 'x')`),
  refused('leaves its control group', `fs.writeFileSync('/sys/fs/cgroup/memory/cgroup.procs', '0')`),
  refused('makes a device', `shell('mknod disk b 254 0')`),
  // Other processes.
  refused('kills the agent', `process.kill(given.agentPid, 'SIGKILL')`),
  refused('kills the supervisor', `process.kill(given.supervisorPid, 'SIGKILL')`),
  {
    name: 'kills everybody it may',
    code: `process.kill(-1, 'SIGKILL'); for (;;) ;`,
    ends: ['exited', 'wall'],
    limits: { wallMs: 800 },
  },
  {
    name: 'kills its parent',
    code: `try { process.kill(process.ppid, 'SIGKILL'); } catch {} say('alive')`,
    ends: ['exited'],
  },
  // Limits.
  {
    name: 'is a fork bomb',
    code: `const bomb = () => { for (let i = 0; i < 30; i++) cp.spawn('/bin/sh', ['-c', 'while :; do sleep 60 & sleep 0.01; done'], { stdio: 'ignore' }).on('error', () => {}); }; setInterval(bomb, 10)`,
    ends: ['processes'],
  },
  {
    name: 'starts thread after thread',
    code: `const { Worker } = require('node:worker_threads'); setInterval(() => new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {}), 5)`,
    ends: ['processes', 'memory'],
  },
  {
    name: 'allocates 10 GB',
    code: `const kept = []; for (let i = 0; i < 1000; i++) kept.push(Buffer.alloc(1e7, 1)); say('ESCAPED')`,
    ends: ['memory'],
  },
  {
    name: 'allocates 10 GB in children',
    code: `for (let i = 0; i < 10; i++) cp.spawn(process.execPath, ['-e', 'const kept = []; for (let i = 0; i < 100; i++) kept.push(Buffer.alloc(1e7, 1)); setTimeout(() => {}, 5000)'], { stdio: 'ignore' }); setTimeout(() => {}, 9000)`,
    ends: ['memory', 'processes'],
  },
  {
    name: 'makes a string of 1 GB',
    code: `const kept = []; for (;;) kept.push('x'.repeat(1 << 29) + kept.length, Buffer.from('x'.repeat(1 << 28)))`,
    ends: ['memory', 'exited'],
  },
  {
    name: 'fills shared memory',
    code: `try { const fd = fs.openSync('/dev/shm/fill', 'w'); for (let i = 0; i < 400; i++) fs.writeSync(fd, Buffer.alloc(1e6, 1)); say('ESCAPED'); } catch (e) { say('bounded ' + e.code); }`,
    ends: ['memory', 'exited'],
  },
  ...kernelCases,
  { name: 'loops for ever', code: 'for (;;) ;', ends: ['wall'], limits: { wallMs: 500 } },
  {
    name: 'ignores every signal',
    code: `for (const name of Object.keys(os.constants.signals)) try { process.on(name, () => {}); } catch {} setInterval(() => {}, 1000)`,
    ends: ['wall'],
    limits: { wallMs: 500 },
  },
  {
    name: 'stops itself',
    code: `process.kill(process.pid, 'SIGSTOP')`,
    ends: ['wall'],
    limits: { wallMs: 500 },
  },
  {
    name: 'burns processor time in children',
    code: `for (let i = 0; i < 3; i++) cp.spawn('/bin/sh', ['-c', 'while :; do :; done']); setTimeout(() => {}, 9000)`,
    ends: ['cpu'],
    limits: { cpuMs: 500 },
  },
  {
    name: 'writes a log of 10 GB',
    code: `const block = 'x'.repeat(65536); for (let i = 0; i < 160000; i++) fs.writeSync(1, block)`,
    ends: ['output', 'exited'],
  },
  {
    name: 'writes 10 GB to stdout and never reads',
    code: `const block = 'y'.repeat(65536); const go = () => { while (process.stdout.write(block)); process.stdout.once('drain', go); }; go()`,
    ends: ['output'],
  },
  {
    name: 'sends one endless event',
    code: `const block = Buffer.alloc(65536, 120); for (;;) try { fs.writeSync(3, block); } catch (e) { if (e.code !== 'EAGAIN') throw e; }`,
    ends: ['output'],
  },
  {
    name: 'fills the disk with many files',
    code: `for (let i = 0; ; i++) fs.writeFileSync('f' + i, Buffer.alloc(1e6, i))`,
    ends: ['disk'],
  },
  {
    name: 'fills the disk with one file',
    code: `process.on('SIGXFSZ', () => {}); const fd = fs.openSync('big', 'w'); try { for (;;) fs.writeSync(fd, Buffer.alloc(1e6, 1)); } catch (e) { say('bounded ' + e.code); }`,
    ends: ['exited', 'disk'],
  },
  {
    name: 'hides what it writes',
    code: `fs.mkdirSync('hidden'); let i = 0; process.chdir('hidden'); fs.chmodSync('.', 0o300); setInterval(() => fs.writeFileSync('f' + i++, Buffer.alloc(4e6, 1)), 5)`,
    ends: ['disk'],
  },
  // Ends that look successful or are unusual.
  { name: 'exits with 0', code: 'process.exit(0)' },
  {
    name: 'deletes its globals',
    code: `for (const name of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[name]; } catch {}`,
  },
  { name: 'rejects after its end', code: `setTimeout(() => Promise.reject(new Error('late')), 10)` },
  { name: 'dumps core', code: `process.abort()` },
  {
    name: 'closes its descriptors',
    code: `for (let fd = 0; fd <= 20; fd++) try { fs.closeSync(fd); } catch {}`,
    ends: ['exited', 'wall'],
    limits: { wallMs: 1500 },
  },
  {
    name: 'leaves a daemon',
    code: `cp.spawn('setsid', ['sh', '-c', 'trap "" HUP INT TERM; (while :; do sleep 1; done) & exit'], { detached: true, stdio: 'ignore' }).unref(); setTimeout(() => process.exit(0), 100)`,
  },
  {
    name: 'leaves a daemon without an environment',
    code: `cp.spawn('sh', ['-c', 'exec sleep 1000'], { detached: true, env: {}, stdio: 'ignore' }).unref(); setTimeout(() => process.exit(0), 50)`,
  },
  // Files.
  {
    name: 'links its artifact to the key',
    code: `fs.symlinkSync(given.keyFile, 'artifact'); fs.symlinkSync('/proc/' + given.agentPid + '/environ', 'other'); say('linked')`,
    prints: 'linked',
    refusedFiles: ['artifact', 'other'],
  },
  {
    name: 'links a folder of artifacts elsewhere',
    code: `fs.symlinkSync(require('node:path').dirname(given.keyFile), 'folder'); say('linked')`,
    prints: 'linked',
    refusedFiles: ['folder/key', '../key', 'folder'],
    refusedWrite: 'folder/planted',
  },
  {
    name: 'gives a file of others a second name',
    code: `try { fs.linkSync('/etc/passwd', 'artifact'); } catch {} try { fs.writeFileSync('one', 'x'); fs.linkSync('one', 'two'); } catch {} say('linked')`,
    prints: 'linked',
    refusedFiles: ['artifact', 'two'],
  },
  {
    name: 'leaves a pipe as its artifact',
    code: `shell('mkfifo artifact'); say('made')`,
    // Deeply nested folders are slow while other processes write, too.
    limits: { wallMs: 60_000, cpuMs: 30_000 },
    prints: 'made',
    refusedFiles: ['artifact'],
  },
  {
    name: 'nests folders deeper than a path can be long',
    code: `for (let i = 0; i < 600; i++) { const name = 'd'.repeat(200); fs.mkdirSync(name); process.chdir(name); } say('deep')`,
    prints: 'deep',
  },
  {
    name: 'closes folders',
    code: `fs.mkdirSync('a/b/c', { recursive: true }); fs.writeFileSync('a/b/c/f', 'x'); for (const path of ['a/b/c', 'a/b', 'a', '.tmp', '.']) fs.chmodSync(path, 0);`,
  },
  {
    name: 'makes 5,000 files',
    code: `for (let i = 0; i < 5000; i++) fs.writeFileSync('f' + i, ''); say('made')`,
    // Deeply nested folders are slow while other processes write, too.
    limits: { wallMs: 60_000, cpuMs: 30_000 },
    prints: 'made',
  },
  {
    name: 'leaves files where everybody may write',
    code: `for (const place of ['/tmp', '/var/tmp', '/dev/shm', '/run/lock']) try { fs.mkdirSync(place + '/picket-left'); fs.writeFileSync(place + '/picket-left/file', 'x'); } catch {} say('left')`,
    prints: 'left',
  },
  {
    name: 'keeps too much where everybody may write',
    code: `for (let i = 0; ; i++) for (const place of ['/tmp', '/var/tmp', '/dev/shm', '/run/lock']) try { fs.writeFileSync(place + '/picket-left-' + i, Buffer.alloc(1e6, 1)); } catch {}`,
    ends: ['disk', 'memory', 'wall'],
  },
  {
    name: 'leaves a message queue of POSIX',
    code: `cp.spawnSync('perl', ['-e', 'syscall(240, "picket-left", 66, 384, 0)']); say('left')`,
    prints: 'left',
  },
  {
    name: 'leaves shared memory of System V',
    code: `try { shell('ipcmk -M 4096 -S 1 -Q'); } catch {} say('left')`,
    prints: 'left',
  },
  {
    name: 'makes a set-user-id program',
    code: `fs.copyFileSync('/bin/sh', 'sh'); fs.chmodSync('sh', 0o4755); say('made')`,
    // Deeply nested folders are slow while other processes write, too.
    limits: { wallMs: 60_000, cpuMs: 30_000 },
    prints: 'made',
  },
  // Settings of the customer.
  {
    name: 'chooses variables that a shell would run',
    code: `say(process.env.A === "'; id >&2; '\\n$(id)" && process.env.IFS === 'x' && process.env['a.b'] === '1 2' ? 'intact' : 'ESCAPED ' + JSON.stringify(process.env))`,
    environment: { A: "'; id >&2; '\n$(id)", IFS: 'x', 'a.b': '1 2' },
    prints: 'intact',
  },
  {
    name: 'chooses a library for every program that starts',
    code: `say('ran')`,
    environment: { LD_PRELOAD: '/nowhere/evil.so', ENV: '/nowhere', BASH_ENV: '/nowhere' },
    prints: 'ran',
  },
];

export const abuseLimits: SandboxLimits = {
  memoryBytes: 300 * megabyte,
  wallMs: 10_000,
  cpuMs: 8000,
  processCount: 100,
  outputBytes: 2 * megabyte,
  diskBytes: 50 * megabyte,
};
