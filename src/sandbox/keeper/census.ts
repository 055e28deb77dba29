import { readdirSync, readFileSync } from 'node:fs';

/** A live process, as /proc shows it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly threadCount: number;
  /** Resident memory of its own and shared memory; files it has mapped are not counted. */
  readonly memoryBytes: number;
  /** Of the process and of the children it has waited for. */
  readonly cpuMs: number;
}

/** USER_HZ, which every Linux platform that Node runs on has at 100. */
const msPerTick = 10;

/** All live processes of this host's (or container's) view. About 25 microseconds each. */
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

/** One process; undefined when there is none, or a dead one that nobody has waited for yet. */
export function readProcess(pid: number): ProcessEntry | undefined {
  let status: string;
  let stat: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'latin1');
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // it ended meanwhile
  }
  if (/^State:\s+[ZX]/m.test(status)) return undefined;
  const number = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  // The command's name in parentheses may hold spaces and parentheses itself: fields are counted from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0);
  return {
    pid,
    parentPid: number('PPid'),
    uid: number('Uid'),
    threadCount: number('Threads'),
    memoryBytes: (number('RssAnon') + number('RssShmem')) * 1024,
    cpuMs: ticks * msPerTick,
  };
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

/** Whether the environment a process was started with holds an entry, such as `NAME=value`; no where it cannot be read. */
export function hasEnvironmentEntry(pid: number, entry: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(entry);
  } catch {
    return false; // ended, or somebody else's
  }
}
