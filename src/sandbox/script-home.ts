import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { toError } from '../lib/errors.ts';
import type { Claims } from './keeper/uid-claims.ts';
import { SandboxUnavailable } from './sandbox.ts';

/** Agents of one user on one host. */
const maxAgents = 100;

/** A folder that no other agent has, below one that only its user can change. */
export async function claimHome(directory: string, claims: Claims): Promise<string> {
  try {
    await makeOwn(directory);
    for (let number = 0; number < maxAgents; number += 1) {
      const home = join(directory, String(number));
      await makeOwn(home);
      if (claims.claim(join(home, 'lock'))) {
        // Compiled code that versions before 2026-11 kept here.
        await rm(join(home, 'compiled'), { recursive: true, force: true });
        return home;
      }
    }
  } catch (thrown) {
    if (thrown instanceof SandboxUnavailable) throw thrown;
    throw new SandboxUnavailable(`SCRIPTS_DIR cannot be used: ${toError(thrown).message}`, thrown);
  }
  throw new SandboxUnavailable(`${maxAgents} agents use ${directory} already`);
}

/** Where the other agents of this user have or had their sandboxes. */
export async function neighboursOf(home: string): Promise<string[]> {
  const names = await readdir(dirname(home));
  return names
    .filter((name) => /^\d+$/.test(name) && name !== basename(home))
    .map((name) => join(dirname(home), name, 'sandboxes'));
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new SandboxUnavailable(`${directory} belongs to somebody else: set SCRIPTS_DIR`);
  }
  // Scripts pass through it to what they may read.
  await chmod(directory, 0o711);
}
