import { randomBytes } from 'node:crypto';
import { copyFile, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { SealedArtifact } from '@picket/agent/run/contracts.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';

const prefix = 'picket-artifacts';

/**
 * Creates the folder in which `picket run` collects the artifacts of its run: `picket-artifacts.HOST.PID.START.RANDOM`
 * in the folder for temporary files, accessible only to this user. The name identifies the process, so that a later run
 * can remove the folder of a killed one.
 *
 * @returns its path, after folders of dead processes have been removed.
 */
export async function openArtifactFolder(parent: string): Promise<string> {
  await removeLeftovers(parent);
  const start = await startOfProcess(process.pid);
  const path = join(
    parent,
    [prefix, hostPart(), process.pid, start, randomBytes(4).toString('hex')].join('.'),
  );
  // Not recursive: a folder that another user has created there is not safe for evidence.
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** Copies artifacts to a folder; those of an earlier run with the same names are replaced. */
export async function copyArtifacts(files: readonly SealedArtifact[], folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const file of files) {
    const target = join(folder, file.name);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(file.path, target);
  }
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const match = /^picket-artifacts\.([\w-]+)\.(\d+)\.(\d+)\.[0-9a-f]{8}$/.exec(name);
    // A process id identifies a process only on its own host.
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

/**
 * Returns the start time of a process, in clock ticks since boot, which distinguishes it from a later one with the same
 * id. 0: no such process.
 */
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
