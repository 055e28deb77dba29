import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const noLimit = 2 ** 60;

/**
 * How much memory programs can still take before this host, or a control group this process is in, has none
 * left, in bytes. The kernel's cache of files counts as free where it would give way.
 */
export function availableMemoryBytes(): number {
  return Math.min(onHost('MemAvailable'), ...groupsOf(read('/proc/self/cgroup') ?? '').map(leftInGroup));
}

/**
 * How much memory there is at most, in bytes: this host's, or what a control group this process is in allows.
 */
export function memoryLimitBytes(): number {
  return Math.min(onHost('MemTotal'), ...groupsOf(read('/proc/self/cgroup') ?? '').map(limitOf));
}

function onHost(field: 'MemAvailable' | 'MemTotal'): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read('/proc/meminfo') ?? '')?.[1];
  return kilobytes === undefined ? noLimit : Number(kilobytes) * 1024;
}

/** Folders of the control groups that may bound memory: the process's own and those around it. */
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

/** Undefined for `max` too. */
function number(folder: string, name: string): number | undefined {
  const text = read(join(folder, name))?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** For how long the processors were idle since the host started, all together, in milliseconds. */
export function idleProcessorMs(): number {
  const [, idleSeconds] = (read('/proc/uptime') ?? '').split(' ');
  return Number(idleSeconds ?? 0) * 1000;
}

/** Files of the kernel: what is not there on this one is not known. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined; // not on this kernel
  }
}
