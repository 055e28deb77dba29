import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { toError } from '@picket/lib/errors.ts';
import { SandboxUnavailable } from '../sandbox.ts';
import type { Claims } from '../supervisor/uid-claims.ts';

/** Maximum number of agents of one user on one host. */
const maxAgents = 100;

/** Claims a folder for this agent alone, below one that only its user can change. */
export async function claimWorkDir(directory: string, claims: Claims): Promise<string> {
  try {
    await makeOwn(directory);
    for (let number = 0; number < maxAgents; number += 1) {
      const workDir = join(directory, String(number));
      await makeOwn(workDir);
      if (!claims.claim(join(workDir, 'lock'))) continue;
      // Compiled code of versions before 2026-11-22.
      await rm(join(workDir, 'compiled'), { recursive: true, force: true });
      return workDir;
    }
  } catch (thrown) {
    if (thrown instanceof SandboxUnavailable) throw thrown;
    throw new SandboxUnavailable(`SCRIPTS_DIR cannot be used: ${toError(thrown).message}`, thrown);
  }
  throw new SandboxUnavailable(`${maxAgents} agents use ${directory} already`);
}

/** Sandbox folders of the other agents of this user, running or not. */
export async function neighboursOf(workDir: string): Promise<string[]> {
  const parent = dirname(workDir);
  return (await readdir(parent))
    .filter((name) => /^\d+$/.test(name) && name !== basename(workDir))
    .map((name) => join(parent, name, 'sandboxes'));
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new SandboxUnavailable(`${directory} belongs to another user: set SCRIPTS_DIR`);
  }
  // Scripts must be able to traverse it to the files they may read.
  await chmod(directory, 0o711);
}
