import { errorCodeOf } from '@picket/lib/errors.ts';
import type { PartProblem } from '../mechanism.ts';
import type { SandboxPool } from '../pool/pool.ts';
import { hasCurrentCode } from '../runtimes/compiled.ts';
import { type Runtime, type Runtimes, readRuntimes } from '../runtimes/runtimes.ts';
import { checkRuntime } from '../runtimes/self-check.ts';
import { SandboxUnavailable } from '../sandbox.ts';

/** @throws SandboxUnavailable if no runtime is installed. */
export async function installedRuntimes(directory: string): Promise<Runtimes> {
  let runtimes: Runtimes | undefined;
  try {
    runtimes = await readRuntimes(directory);
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'ENOENT') throw thrown;
  }
  if (!runtimes || runtimes.ids.length === 0) {
    throw new SandboxUnavailable('no runtime is installed: npm run runtimes:install');
  }
  return runtimes;
}

/**
 * Returns the complete runtimes. They are checked one at a time: each check takes a second of processor time.
 *
 * @throws SandboxUnavailable if no runtime is complete.
 */
export async function completeRuntimes(runtimes: readonly Runtime[], pool: SandboxPool) {
  const complete: Runtime[] = [];
  const problems: PartProblem[] = [];
  for (const runtime of runtimes) {
    const sandbox = await pool.acquire(new AbortController().signal);
    try {
      const found = await checkRuntime(runtime, sandbox, pool.facts.nodePath);
      if (found.length === 0) {
        complete.push(runtime);
        if (!hasCurrentCode(runtime)) problems.push({ part: 'compiled-code', text: slowStart(runtime) });
      } else {
        const text = `runtime ${runtime.id} is not offered: ${found.slice(0, 5).join('; ')}`;
        problems.push({ part: 'runtime', text });
      }
    } finally {
      await sandbox.release();
    }
  }
  if (complete.length === 0) throw new SandboxUnavailable(problems.map(({ text }) => text).join('; '));
  return { complete, problems };
}

const slowStart = ({ id }: Runtime) =>
  `runtime ${id} has no compiled code of this version: each script run takes up to twice the processor time`;
