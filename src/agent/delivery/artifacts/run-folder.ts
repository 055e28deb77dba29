import { basename, join } from 'node:path';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';

/** Identifies one attempt of a run: in memory, and as the name of its folder on disk. */
export function attemptKey({ runId, leaseNumber }: LeaseRef): string {
  return `${runId}.${leaseNumber}`;
}

/** Folder of a run's artifacts within the work folder. */
export function runFolder(workFolder: string, lease: LeaseRef): string {
  return join(workFolder, attemptKey(lease));
}

/**
 * Name of the folder that holds the artifacts of a record (see spooled-report.ts); undefined if it has none. It parses
 * only the part of the note that it needs, so that the spool thread does not load the schemas, which take 6 MB of
 * memory and 50 ms.
 */
export function artifactFolderOf(body: Buffer): string | undefined {
  const end = body.indexOf(0x0a);
  const note = parsed(body.toString('utf8', 0, Math.max(0, end)));
  if (typeof note !== 'object' || note === null) return undefined;
  const { runId, leaseNumber, files } = note as Readonly<Record<string, unknown>>;
  if (typeof runId !== 'string' || typeof leaseNumber !== 'number' || !Array.isArray(files)) return undefined;
  return basename(attemptKey({ runId, leaseNumber }));
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
