import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

/** A live process, according to /proc. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly threadCount: number;
  /** Anonymous resident memory; mapped files are not counted. */
  readonly anonymousBytes: number;
  /** Shared memory: the resident part of mapped in-memory files. */
  readonly sharedBytes: number;
  /** Of the process and of the children it has waited for. */
  readonly cpuMs: number;
}

/** USER_HZ, which is 100 on every Linux platform that Node supports. */
const msPerTick = 10;
/** Larger than any file of /proc that is read here. */
const scratch = Buffer.allocUnsafe(16_384);

/** All live processes visible in this host or container. About 20 microseconds each. */
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

/** Reads one process; undefined if it does not exist or is a zombie. */
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
  // The command's name in parentheses may contain spaces and parentheses: fields are counted from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0) * msPerTick;
}

/** Returns the text after a name at the start of a line; empty if the name is absent. */
function fieldOf(status: string, name: string): string {
  const start = status.indexOf(`\n${name}:\t`);
  if (start === -1) return '';
  const from = start + name.length + 3;
  return status.slice(from, status.indexOf('\n', from)).trimStart();
}

/** Reads a file of /proc; undefined if its process has ended. Makes half the system calls of `readFileSync`. */
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

/** All descendants of a process, without itself. */
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

/** Whether a process was started with an environment entry, such as `NAME=value`; false if that cannot be read. */
export function hasEnvironmentEntry(pid: number, entry: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(entry);
  } catch {
    return false; // ended, or of another user
  }
}
