import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { hasNamespaces, needsRoot, type SandboxMechanism } from '../mechanism.ts';
import { systemProgram } from '../system-program.ts';
import type { ProgramRequest } from './message.ts';
import { userFiles } from './user-entry.ts';

export { systemProgram };

/**
 * A program starts through a chain of processes, each replacing the previous one or waiting for the next:
 *
 * 1. `sh` joins the control groups and becomes a preferred victim of the OOM killer;
 * 2. `nsenter` enters the network of the sandbox, `unshare` creates the other namespaces and a first process in
 *    them;
 * 3. `sh`, that first process, mounts the file systems that the code may see, and reaps orphans;
 * 4. `setpriv` becomes the slot's user and drops every privilege for good;
 * 5. `sh` waits on its standard input until the program is known, then becomes it.
 *
 * Only the last one sees the program's environment: a variable such as LD_PRELOAD, which a customer may set, must never
 * reach a process with privileges. It is also why the chain can be built before there is a program.
 *
 * Descriptors of the chain: 0 input of the last shell, 1 output, 2 messages of the chain itself, 3 events, 4 the
 * program's input, 5 its errors, 6 its network. The program gets 0 to 3.
 */
export interface Launch {
  readonly child: ChildProcess;
  readonly commands: Writable;
  readonly input: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly events: Readable;
  /** Messages of the chain; `startedMark` comes first once the program is reached. */
  readonly messages: Readable;
}

export interface LaunchPlan {
  readonly mechanism: SandboxMechanism;
  readonly directory: string;
  readonly uid: number | undefined;
  /** Files of the control groups to join. */
  readonly groupDoors: readonly string[];
  /** Covered in the code's view of the file system. */
  readonly privatePaths: readonly string[];
  /** Value of `cookieName` in the environment of the chain; the program has its own environment. */
  readonly cookie: string;
  /** The network of the sandbox; undefined if it uses the host's. */
  readonly networkDescriptor: number | undefined;
}

/** The variable that identifies processes that have no user of their own. */
export const cookieName = 'PICKET_SANDBOX';
/** Margin above the reported limit, so that a fork refused by this limit is never the first sign. */
const spareTasks = 16;
export const startedMark = '+\n';

const programs = {
  sh: '/bin/sh',
  unshare: 'unshare',
  nsenter: 'nsenter',
  setpriv: 'setpriv',
  mount: 'mount',
  env: 'env',
};
/** Starts the chain up to the point where it waits for a program. @throws errors of `spawn`. */
export function launch(plan: LaunchPlan): Launch {
  const [command = programs.sh, ...args] = chain(plan);
  const child = spawn(command, args, {
    cwd: '/',
    detached: true,
    env: plan.mechanism === 'none' ? { [cookieName]: plan.cookie } : {},
    stdio: [
      ...Array<'pipe'>(6).fill('pipe'),
      ...(plan.networkDescriptor === undefined ? [] : [plan.networkDescriptor]),
    ],
  });
  const [commands, stdout, messages, events, input, stderr] = child.stdio as unknown as [
    Writable,
    Readable,
    Readable,
    Readable,
    Writable,
    Readable,
  ];
  // The reader or writer sees the end of the process; an EPIPE of its input is the code's own decision.
  for (const stream of [commands, stdout, messages, events, input, stderr]) {
    stream?.on('error', () => undefined);
  }
  return { child, commands, input, stdout, stderr, events, messages };
}

function chain(plan: LaunchPlan): string[] {
  const setpriv = systemProgram(programs.setpriv);
  const unprivileged = ['--no-new-privs', '--inh-caps=-all', programs.sh];
  const isRoot = needsRoot(plan.mechanism);
  const last = isRoot
    ? [
        setpriv,
        `--reuid=${plan.uid}`,
        `--regid=${plan.uid}`,
        '--clear-groups',
        '--bounding-set=-all',
        // The parent-death signal: in a namespace the parent is the first process, whose end kills everything anyway.
        ...(hasNamespaces(plan.mechanism) ? [] : ['--pdeathsig=KILL']),
        ...unprivileged,
      ]
    : plan.mechanism === 'user-namespaces'
      ? [setpriv, '--bounding-set=-all', '--ambient-caps=-all', ...unprivileged]
      : [setpriv, '--pdeathsig=KILL', ...unprivileged];
  const isolated = hasNamespaces(plan.mechanism)
    ? [
        ...(plan.networkDescriptor === undefined
          ? []
          : [systemProgram(programs.nsenter), '--net=/proc/self/fd/6']),
        setpriv,
        '--pdeathsig=KILL',
        systemProgram(programs.unshare),
        ...(isRoot ? [] : ['--user', '--map-current-user', '--keep-caps']),
        ...['--pid', '--fork', '--kill-child=KILL', '--mount', '--ipc'],
        ...[programs.sh, '-c', firstProcess(plan), 'init', ...last],
      ]
    : last;
  // POSIX message queues outlive the processes that created them.
  const limited = [systemProgram('prlimit'), '--msgqueue=0:0', ...isolated];
  return [programs.sh, '-c', joinGroups(plan.groupDoors), 'launch', ...limited];
}

function joinGroups(doors: readonly string[]): string {
  const joins = doors.map((door) => `echo 0 > ${quote(door)} || exit 70`);
  return [...joins, 'echo 500 > /proc/self/oom_score_adj', 'exec "$@"'].join('\n');
}

/**
 * The script of the first process in the namespaces: it mounts file systems, then waits for the program and everything
 * it leaves behind.
 */
function firstProcess(plan: LaunchPlan): string {
  const mount = systemProgram(programs.mount);
  const directory = quote(plan.directory);
  const isBelowTmp = isWithin(plan.directory, '/tmp');
  // Other file systems are mounted over these: their content is out of reach, so there is nothing to cover.
  const isReplaced = (path: string) => isWithin(path, '/dev/shm') || (!isBelowTmp && isWithin(path, '/tmp'));
  const around = dirname(plan.directory);
  const isCovered = (path: string) => !needsRoot(plan.mechanism) && path !== around && isWithin(path, around);
  const lines = [
    ownProc(plan, mount),
    ...ownFolder(plan, mount),
    `${mount} -t tmpfs -o size=256m,mode=1777,nosuid,nodev tmpfs /dev/shm`,
    ...namedUser(plan, mount),
    isBelowTmp ? '' : `${mount} --bind ${directory}/.tmp /tmp`,
    ...writableMounts()
      .filter((place) => !isReplaced(place) && !isCovered(place))
      .map((place) => `${mount} -o remount,bind,ro ${quote(place)}`),
    ...plan.privatePaths.filter((path) => !isReplaced(path)).flatMap((path) => cover(mount, path)),
  ];
  const steps = lines.filter((line) => line !== '').map((line) => `${line} || exit 70`);
  return [...steps, '"$@"', 'exit $?'].join('\n');
}

/**
 * Mounts a /proc that only shows the processes of the namespace. If parts of the current one are covered, as in most
 * containers, the kernel refuses a new one in a user namespace: the old one stays. It then lists all processes, but
 * nothing more: memory, environment and descriptors of a process in another user namespace are not accessible, and
 * signals do not reach it.
 */
function ownProc(plan: LaunchPlan, mount: string): string {
  const command = `${mount} -t proc -o nosuid,nodev,noexec proc /proc`;
  return needsRoot(plan.mechanism) ? command : `${command} 2>/dev/null || true`;
}

/**
 * Mounts the slot's folder separately, so that it stays writable; if all slots share one user, the other slots are
 * covered.
 */
function ownFolder(plan: LaunchPlan, mount: string): string[] {
  const directory = quote(plan.directory);
  if (needsRoot(plan.mechanism)) return [`${mount} --bind ${directory} ${directory}`];
  const around = quote(dirname(plan.directory));
  return [
    `cd ${directory}`,
    `${mount} -t tmpfs -o size=16k,mode=0711,nosuid,nodev tmpfs ${around}`,
    `${systemProgram('mkdir')} ${directory}`,
    `${mount} --no-canonicalize --bind . ${directory}`,
    `${mount} -o remount,ro ${around}`,
    'cd /',
  ];
}

/** Gives the code's user a name, in files of its own mounted over those of the host. */
function namedUser(plan: LaunchPlan, mount: string): string[] {
  const uid = plan.uid ?? process.getuid?.() ?? 0;
  const gid = plan.uid ?? process.getgid?.() ?? 0;
  return userFiles({ uid, gid, directory: plan.directory }).flatMap(({ path, content }) => {
    const file = `/dev/shm/${basename(path)}`;
    return [
      `printf %s ${quote(content)} > ${file}`,
      `chmod 0644 ${file}`,
      `${mount} -o bind,ro ${file} ${path}`,
      `rm ${file}`,
    ];
  });
}

/** Hides a file or folder, if it exists. */
function cover(mount: string, path: string): string[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch {
    return []; // not there: nothing to hide
  }
  return isFolder
    ? [`${mount} -t tmpfs -o ro,size=4k,mode=0555,nosuid,nodev tmpfs ${quote(path)}`]
    : [`${mount} --bind /dev/null ${quote(path)}`];
}

/** Mount points of visible, writable file systems with persistent content. */
function writableMounts(): string[] {
  const kernelTypes = new Set(
    [
      'proc sysfs devpts mqueue devtmpfs debugfs tracefs securityfs bpf nsfs binfmt_misc fusectl configfs'.split(
        ' ',
      ),
      ['cgroup', 'cgroup2', 'pstore', 'hugetlbfs', 'rpc_pipefs', 'autofs', 'efivarfs'],
    ].flat(),
  );
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n');
  const mounts = lines.map((line) => {
    const [mount = '', source = ''] = line.split(' - ');
    const fields = mount.split(' ');
    const place = (fields[4] ?? '').replace(/\\(\d{3})/g, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    const isWritable = fields[5]?.split(',')[0] === 'rw' && !kernelTypes.has(source.split(' ')[0] ?? '');
    return { place, isWritable };
  });
  const places = mounts
    .filter(({ place, isWritable }, index) => {
      // A later mount above it hides it.
      const isHidden = mounts
        .slice(index + 1)
        .some((later) => later.place !== place && isWithin(place, later.place));
      return isWritable && !isHidden && !place.startsWith('/proc');
    })
    .map(({ place }) => place);
  return [...new Set(places)];
}

/**
 * The input of the last shell: per-process limits, the environment, and the program that replaces the shell. All text
 * of the customer is quoted.
 */
export function startCommands(program: ProgramRequest, plan: LaunchPlan): string {
  const { limits } = program;
  const environment = { ...defaultEnvironment(plan.directory), ...program.environment };
  if (plan.mechanism === 'none') environment[cookieName] = plan.cookie;
  const plain = Object.entries(environment).filter(([name]) => isPlainName(name));
  const odd = Object.entries(environment).filter(([name]) => !isPlainName(name));
  const isCounted = plan.mechanism === 'none' || plan.groupDoors.some((door) => door.includes('/pids/'));
  const taskCount = limits.processCount + spareTasks;
  const folder = join(plan.directory, program.workingDirectory ?? '.');
  return [
    'umask 077',
    'ulimit -c 0',
    `ulimit -f ${Math.max(1, Math.floor(limits.diskBytes / 512))}`,
    'ulimit -n 4096 2>/dev/null', // stays lower if the host allows less
    // Debian's sh calls it p, bash u. It counts all processes of a user, including the agent's if both have the same
    // user, and zombies. A control group counts exactly.
    isCounted ? '' : `ulimit -p ${taskCount} 2>/dev/null || ulimit -u ${taskCount}`,
    `cd ${quote(folder)} || exit 126`,
    'unset PWD OLDPWD SHLVL',
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `[ -x ${quote(program.path)} ] || { echo ${quote(`cannot run ${program.path}`)} >&2; exit 127; }`,
    `echo ${startedMark.trim()} >&2`,
    `exec ${[
      ...(odd.length > 0
        ? [systemProgram(programs.env), ...odd.map(([name, value]) => `${name}=${value}`)]
        : []),
      program.path,
      ...program.args,
    ]
      .map(quote)
      .join(' ')} 0<&4 2>&5 4<&- 5>&- 6<&-`,
    '',
  ].join('\n');
}

/** Names that a shell can export and does not interpret itself. */
function isPlainName(name: string): boolean {
  const special = [
    'PWD',
    'OLDPWD',
    'IFS',
    'PATH',
    'OPTIND',
    'LINENO',
    'PPID',
    'ENV',
    'UID',
    'EUID',
    'SHELLOPTS',
    'BASHOPTS',
  ];
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !special.includes(name) && !name.startsWith('BASH');
}

function defaultEnvironment(directory: string): Record<string, string> {
  return {
    HOME: directory,
    TMPDIR: join(directory, '.tmp'),
    PATH: '/usr/local/bin:/usr/bin:/bin',
    TZ: 'UTC',
  };
}

/** @throws Error for a NUL, which arguments and variables cannot contain. */
function quote(text: string): string {
  if (text.includes('\0')) throw new Error('a NUL character cannot be passed to a program');
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Returns the first parent folder of a path that users other than its owner cannot traverse, if any. */
export function impassableFolder(path: string): string | undefined {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}
