import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

/** A live process, as /proc shows it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly threadCount: number;
  /** Resident memory of its own; files it has mapped are not counted. */
  readonly anonymousBytes: number;
  /** Of files in memory, what it has mapped and uses. */
  readonly sharedBytes: number;
  /** Of the process and of the children it has waited for. */
  readonly cpuMs: number;
}

/** USER_HZ, which every Linux platform that Node runs on has at 100. */
const msPerTick = 10;
/** More than any file of /proc that is read here has. */
const scratch = Buffer.allocUnsafe(16_384);

/** All live processes of this host's (or container's) view. About 20 microseconds each. */
export function listProcesses(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = readProcess(pid);
    if (entry) entries.push(entry);
  }
  return entries;
}

/** One process; undefined when there is none, or only a zombie. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const status = readWhole(`/proc/${pid}/status`);
  if (status === undefined) return undefined;
  const state = fieldOf(status, 'State').charAt(0);
  if (state === 'Z' || state === 'X') return undefined;
  const number = (field: string) => Number.parseInt(fieldOf(status, field), 10) || 0;
  return {
    pid,
    parentPid: number('PPid'),
    uid: number('Uid'),
    // Rarely needed, so parsed on demand; the last one reads another file.
    get threadCount() {
      return number('Threads');
    },
    get anonymousBytes() {
      return number('RssAnon') * 1024;
    },
    get sharedBytes() {
      return number('RssShmem') * 1024;
    },
    get cpuMs() {
      return cpuMsOf(pid);
    },
  };
}

function cpuMsOf(pid: number): number {
  const stat = readWhole(`/proc/${pid}/stat`) ?? '';
  // The command's name in parentheses may hold spaces and parentheses itself: fields are counted from the
  // last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0) * msPerTick;
}

/** What follows a name at the beginning of a line; empty where there is none. */
function fieldOf(status: string, name: string): string {
  const start = status.indexOf(`\n${name}:\t`);
  if (start === -1) return '';
  const from = start + name.length + 3;
  return status.slice(from, status.indexOf('\n', from)).trimStart();
}

/** A file of /proc; undefined when its process has ended. Makes half the system calls of `readFileSync`. */
function readWhole(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    return scratch.toString('latin1', 0, readSync(descriptor, scratch, 0, scratch.length, 0));
  } catch {
    return undefined; // it has ended
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Everything below a process in the tree, without itself. */
export function descendantsOf(pid: number, entries: readonly ProcessEntry[]): ProcessEntry[] {
  const byParent = Map.groupBy(entries, (entry) => entry.parentPid);
  const found: ProcessEntry[] = [];
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const child of byParent.get(next) ?? []) {
      found.push(child);
      waiting.push(child.pid);
    }
  }
  return found;
}

/**
 * Whether the environment a process was started with holds an entry, such as `NAME=value`; no where it cannot
 * be read.
 */
export function hasEnvironmentEntry(pid: number, entry: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(entry);
  } catch {
    return false; // ended, or of another user
  }
}
