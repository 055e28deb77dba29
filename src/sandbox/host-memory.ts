import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const noLimit = 2 ** 60;

/**
 * Returns how much more memory programs can use before this host, or a control group of this process, runs out, in
 * bytes. Reclaimable page cache counts as free.
 */
export function availableMemoryBytes(): number {
  return Math.min(onHost('MemAvailable'), ...groupsOf(read('/proc/self/cgroup') ?? '').map(leftInGroup));
}

/** Returns the memory limit in bytes: this host's, or that of a control group of this process. */
export function memoryLimitBytes(): number {
  return Math.min(onHost('MemTotal'), ...groupsOf(read('/proc/self/cgroup') ?? '').map(limitOf));
}

function onHost(field: 'MemAvailable' | 'MemTotal'): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read('/proc/meminfo') ?? '')?.[1];
  return kilobytes === undefined ? noLimit : Number(kilobytes) * 1024;
}

/** Folders of the control groups that may limit memory: the process's own and its ancestors. */
function groupsOf(text: string): string[] {
  const folders: string[] = [];
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    const isUnified = controllers === '';
    if (!isUnified && !controllers.split(',').includes('memory')) continue;
    const root = isUnified ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory';
    for (let folder = path; ; folder = dirname(folder)) {
      folders.push(join(root, folder));
      if (folder === '/') break;
    }
  }
  return folders;
}

function leftInGroup(folder: string): number {
  const limit = limitOf(folder);
  const used = number(folder, 'memory.current') ?? number(folder, 'memory.usage_in_bytes');
  if (used === undefined || limit >= noLimit) return noLimit;
  const cache = /^(?:total_)?inactive_file (\d+)$/m.exec(read(join(folder, 'memory.stat')) ?? '')?.[1];
  return Math.max(0, limit - used + Number(cache ?? 0));
}

function limitOf(folder: string): number {
  return number(folder, 'memory.max') ?? number(folder, 'memory.limit_in_bytes') ?? noLimit;
}

/** Also undefined for `max`. */
function number(folder: string, name: string): number | undefined {
  const text = read(join(folder, name))?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Total idle time of all processors since the host started, in milliseconds. */
export function idleProcessorMs(): number {
  const [, idleSeconds] = (read('/proc/uptime') ?? '').split(' ');
  return Number(idleSeconds ?? 0) * 1000;
}

/** Reads a kernel file; undefined if this kernel does not have it. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined; // not on this kernel
  }
}
