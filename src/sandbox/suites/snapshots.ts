import { buffer } from 'node:stream/consumers';
import { toError } from '@picket/lib/errors.ts';
import type { Sandbox } from '../sandbox.ts';
import { BundleMissing, type SuiteHost } from './suite-host.ts';

/** A reference image of a script. */
export interface Snapshot {
  readonly key: string;
  /** Below the folder of the run. */
  readonly path: string;
}

/** Why snapshots are not available: one was never uploaded, or could not be fetched. */
export interface SnapshotProblem {
  readonly problem: 'missing' | 'unavailable';
  readonly message: string;
}

/** Writes the snapshots of a check to the paths where its script expects them. */
export async function placeSnapshots(
  sandbox: Sandbox,
  suites: SuiteHost | { readonly missing: string },
  snapshots: readonly Snapshot[],
  signal: AbortSignal,
): Promise<SnapshotProblem | undefined> {
  if (snapshots.length === 0) return undefined;
  const unavailable = (why: string) => ({
    problem: 'unavailable' as const,
    message: `The snapshots could not be fetched: ${why}`,
  });
  if ('missing' in suites) return unavailable(suites.missing);
  for (const { key, path } of snapshots) {
    try {
      await sandbox.write(path, await buffer(await suites.bundles.open(key, signal)));
    } catch (thrown) {
      if (!(thrown instanceof BundleMissing)) return unavailable(toError(thrown).message);
      return { problem: 'missing', message: `There is no snapshot ${key} for ${path}: upload it again` };
    }
  }
  return undefined;
}
