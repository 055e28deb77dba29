import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errorCodeOf } from '../../../lib/errors.ts';

const prefix = 'picket-artifacts';

/**
 * The folder in which one agent process keeps artifacts until they are sent: `picket-artifacts.HOST.PID.START.RANDOM`
 * under the spool directory, for the agent's user alone. Its name tells whose it is, so that what a process left that
 * was killed can be told from what another agent on this host, or in this volume, still works with.
 */
export class WorkFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Removes what dead processes left under `parent`, which is made if its own parent exists, and makes a folder there. */
  static async open(parent: string): Promise<WorkFolder> {
    await makeMissing(parent);
    await removeLeftovers(parent);
    const start = await startOfProcess(process.pid);
    const name = [prefix, hostPart(), process.pid, start, randomBytes(4).toString('hex')].join('.');
    const path = join(parent, name);
    // Not recursive: a folder that somebody else has put there is no place for evidence.
    await mkdir(path, { mode: 0o700 });
    return new WorkFolder(path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Not recursive: under /proc that never ends (Node 24). */
async function makeMissing(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'EEXIST') throw thrown;
  }
}

/** Where a run keeps its artifacts within the work folder. */
export function runFolder(
  workFolder: string,
  { runId, leaseNumber }: { readonly runId: string; readonly leaseNumber: number },
): string {
  return join(workFolder, `${runId}.${leaseNumber}`);
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const match = /^picket-artifacts\.([\w-]+)\.(\d+)\.(\d+)\.[0-9a-f]{8}$/.exec(name);
    // Process ids mean something on their own host only.
    if (!match || match[1] !== hostPart()) continue;
    const isAlive = (await startOfProcess(Number(match[2]))) === match[3];
    const path = join(parent, name);
    if (!isAlive && (await isOurs(path))) await rm(path, { recursive: true, force: true });
  }
}

async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isDirectory() && found.uid === process.getuid?.();
}

function hostPart(): string {
  return hostname()
    .replaceAll(/[^\w-]/g, '-')
    .slice(0, 64);
}

/** When a process started, in the kernel's ticks since boot: tells it from a later one with the same id. 0: no such process. */
async function startOfProcess(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
  } catch (thrown) {
    const code = errorCodeOf(thrown);
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return '0';
    throw thrown;
  }
}
