import { basename } from 'node:path';
import { runFolder } from '../artifacts/work-folder.ts';

/**
 * The name of the folder that holds the artifacts of a record (see spooled-report.ts); undefined when it has none. It looks at no more of the
 * note than it needs, so that the spool's thread does without schemas, which take 6 MB of memory and a twentieth of a second.
 */
export function artifactFolderOf(body: Buffer): string | undefined {
  const end = body.indexOf(0x0a);
  const note = parsed(body.toString('utf8', 0, Math.max(0, end)));
  if (typeof note !== 'object' || note === null) return undefined;
  const { runId, leaseNumber, files } = note as Readonly<Record<string, unknown>>;
  if (typeof runId !== 'string' || typeof leaseNumber !== 'number' || !Array.isArray(files)) return undefined;
  return basename(runFolder('/', { runId, leaseNumber }));
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
