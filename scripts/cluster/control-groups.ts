import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const mountPoint = '/sys/fs/cgroup';
/** Hierarchies that the kubelet of 1.20 has to find its group in. */
const needed = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'systemd'];
/** After the end of their processes, which the kernel may take a moment to notice. */
const emptyMs = 10_000;

/** Why the kubelet of 1.20, which knows control groups of version 1 only, cannot run here. */
export function missingForControlGroups(): string[] {
  const absent = needed.filter((name) => !existsSync(join(mountPoint, name, 'tasks')));
  return absent.length > 0
    ? [`control groups of version 1 are not mounted at ${mountPoint}: ${absent.join(', ')}`]
    : [];
}

/** All hierarchies, that of version 2 beside them too, which runc uses where it is mounted. */
async function hierarchies(): Promise<string[]> {
  const names = await readdir(mountPoint);
  return names.map((name) => join(mountPoint, name)).filter((path) => existsSync(join(path, 'cgroup.procs')));
}

/** Makes a control group of that name in each hierarchy, for the kubelet and Docker to work below. */
export async function makeControlGroups(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await mkdir(join(hierarchy, name), { recursive: true });
}

/** Removes them, with all below. @throws Error when processes are left in one. */
export async function removeControlGroups(name: string): Promise<void> {
  const endsAtMs = performance.now() + emptyMs;
  for (const hierarchy of await hierarchies()) {
    const path = join(hierarchy, name);
    while (existsSync(path)) {
      try {
        await removeTree(path);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > endsAtMs) throw thrown;
        await delay(100);
      }
    }
  }
}

async function removeTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await removeTree(join(path, entry.name));
  await rmdir(path);
}

/** Whether limits can be raised here, which takes a capability that virtual machines and containers may lack. */
export function canRaiseLimits(): boolean {
  const bounding = /^CapBnd:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  const sysResource = 24n;
  return ((BigInt(`0x${bounding}`) >> sysResource) & 1n) === 1n;
}
