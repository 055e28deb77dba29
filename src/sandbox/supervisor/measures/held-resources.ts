import {
  type BigIntStats,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';

/** Resources that processes hold through open descriptors and mounts, which no list of processes or files shows. */
export interface HeldResources {
  /** Files in memory (memfd, tmpfs), even without a name or a mapping, in bytes. */
  readonly memoryBytes: number;
  /** Deleted files on disk that are still open, in bytes. */
  readonly unlinkedBytes: number;
  /** Files watched by epoll. The kernel counts them per user. */
  readonly watchCount: number;
  /** Descriptors in flight through sockets. The kernel counts them per user. */
  readonly inFlightCount: number;
}

const memoryFileSystems = new Set([
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0x958458f6, // hugetlbfs
]);
const bytesPerBlock = 512;
const [typeMask, regularFile, socket] = [0o170000n, 0o100000n, 0o140000n];
/** A larger file of /proc exceeds every limit. */
const scratch = Buffer.allocUnsafe(4 * 1024 * 1024);

/**
 * Adds up the resources of some processes. Unreadable ones count as zero: a process that ends, or one that the kernel
 * hides from us. Only watches shared by processes are counted more than once.
 */
export function heldResources(pids: readonly number[]): HeldResources {
  const mounted = mountedInMemory(pids);
  const memoryDevices = new Map<bigint, boolean>();
  const seen = new Set<string>();
  let { bytes: memoryBytes } = mounted;
  let [unlinkedBytes, watchCount, inFlightCount] = [0, 0, 0];
  for (const pid of pids) {
    for (const name of attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const path = `/proc/${pid}/fd/${name}`;
      const found = attempt(() => statSync(path, { bigint: true }));
      if (!found) continue;
      const type = found.mode & typeMask;
      if (type === 0n) {
        if (isEpoll(path)) watchCount += matchesIn(`/proc/${pid}/fdinfo/${name}`, /^tfd:/gm).length;
        continue;
      }
      const identity = `${found.dev} ${found.ino}`;
      if ((type !== socket && type !== regularFile) || seen.has(identity)) continue;
      seen.add(identity);
      if (type === socket) {
        const [inFlight] = matchesIn(`/proc/${pid}/fdinfo/${name}`, /^scm_fds: (\d+)/gm);
        inFlightCount += Number(inFlight?.[1] ?? 0);
      } else if (isInMemory(path, found, memoryDevices)) {
        if (!mounted.devices.has(found.dev)) memoryBytes += Number(found.blocks) * bytesPerBlock;
      } else if (found.nlink === 0n) unlinkedBytes += Number(found.blocks) * bytesPerBlock;
    }
  }
  return { memoryBytes, unlinkedBytes, watchCount, inFlightCount };
}

/** Content of in-memory file systems that only these processes have mounted: their sandbox's own, and theirs. */
function mountedInMemory(pids: readonly number[]): { bytes: number; devices: ReadonlySet<bigint> } {
  const devices = new Set(memoryMounts('self').map(({ device }) => device));
  const ofHost = new Set(devices);
  const namespaces = new Set([attempt(() => readlinkSync('/proc/self/ns/mnt'))]);
  let bytes = 0;
  for (const pid of pids) {
    const namespace = attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`));
    if (namespace === undefined || namespaces.has(namespace)) continue;
    namespaces.add(namespace);
    for (const { device, place } of memoryMounts(pid)) {
      if (devices.has(device)) continue;
      const used = attempt(() => statfsSync(join(`/proc/${pid}/root`, place)));
      if (!used || !memoryFileSystems.has(used.type)) continue;
      devices.add(device);
      bytes += (used.blocks - used.bfree) * used.bsize;
    }
  }
  return { bytes, devices: devices.difference(ofHost) };
}

function memoryMounts(process: number | 'self'): { device: bigint; place: string }[] {
  const text = attempt(() => readFileSync(`/proc/${process}/mountinfo`, 'utf8')) ?? '';
  return text.split('\n').flatMap((line) => {
    const [mount = '', source = ''] = line.split(' - ');
    if (!/^(tmpfs|ramfs|hugetlbfs) /.test(source)) return [];
    const [, , numbers = '', , place = ''] = mount.split(' ');
    const [major = 0, minor = 0] = numbers.split(':').map(Number);
    const device = (BigInt(major) << 8n) | BigInt(minor & 0xff) | (BigInt(minor & ~0xff) << 12n);
    const decoded = place.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
    return [{ device, place: decoded }];
  });
}

function isInMemory(path: string, { dev }: BigIntStats, known: Map<bigint, boolean>): boolean {
  const already = known.get(dev);
  if (already !== undefined) return already;
  const fileSystem = attempt(() => statfsSync(path));
  if (!fileSystem) return false;
  const is = memoryFileSystems.has(fileSystem.type);
  known.set(dev, is);
  return is;
}

/** Descriptors without a file share one inode; only their names differ. */
function isEpoll(path: string): boolean {
  return attempt(() => readlinkSync(path)) === 'anon_inode:[eventpoll]';
}

function matchesIn(path: string, pattern: RegExp): RegExpExecArray[] {
  const text = attempt(() => {
    const descriptor = openSync(path, 'r');
    try {
      let length = 0;
      for (let read = -1; read !== 0 && length < scratch.length; length += read) {
        read = readSync(descriptor, scratch, length, scratch.length - length, null);
      }
      return scratch.toString('latin1', 0, length);
    } finally {
      closeSync(descriptor);
    }
  });
  return [...(text ?? '').matchAll(pattern)];
}

/** Returns undefined if the object is gone or not accessible. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined; // it has ended, or is not accessible
  }
}
