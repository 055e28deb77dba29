import { posix } from 'node:path';
import { z } from 'zod';
import { codeBundleKey, maxSnapshotBytes, readCodeBundleKey } from './code-bundle.ts';

/** A script of the account that runs before or after the operation of a check. */
export interface LifecycleScript {
  /** Origin of the script, for logs. */
  readonly name: string;
  readonly script: string;
  /** Path of the script among its files, and those files; absent if it has none. */
  readonly path?: string | undefined;
  readonly files?: readonly ScriptFile[] | undefined;
}

export interface ScriptFile {
  readonly path: string;
  readonly content: string;
}

/** The scripts around one run, each list in the order they run (check model 2.6). */
export interface Lifecycle {
  readonly setup: readonly LifecycleScript[];
  readonly teardown: readonly LifecycleScript[];
}

/** Time limit of one script (check model 1.11 and 5.4). */
export const lifecycleScriptMs = 10_000;
/** Total time that their processes may take to start, in milliseconds. */
const startMs = 15_000;

/** Additional time for an attempt because of scripts around it, in milliseconds. */
export function lifecycleAllowanceMs(lifecycle: Lifecycle | undefined): number {
  const count = (lifecycle?.setup.length ?? 0) + (lifecycle?.teardown.length ?? 0);
  return count === 0 ? 0 : startMs + count * lifecycleScriptMs;
}

export function hasScripts(lifecycle: Lifecycle | undefined): boolean {
  return lifecycleAllowanceMs(lifecycle) > 0;
}

export const maxScriptLength = 1_000_000;
const maxDependencies = 500;

/** Names at the top of a run's folder that are reserved. */
const takenNames: ReadonlySet<string> = new Set(['node_modules', '.picket']);

/** Returns why a path cannot name a file of a script, or undefined if it can. */
function pathProblem(path: string): string | undefined {
  if (/[\0\\]/.test(path)) return 'must not contain backslashes or null characters';
  const normal = posix.normalize(path);
  if (posix.isAbsolute(path) || normal === '.' || normal === '..' || normal.startsWith('../')) {
    return 'must be relative and stay inside the folder of the check';
  }
  if (path.endsWith('/')) return 'must name a file';
  const [top = ''] = normal.split('/');
  return takenNames.has(top) ? `must not point to ${top}, which belongs to the runtime` : undefined;
}

const filePath = z
  .string()
  .min(1)
  .max(1000)
  .superRefine((path, context) => {
    const problem = pathProblem(path);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  });

/** Path of a script among its files. */
export const ScriptPath = filePath
  .regex(/\.[cm]?[jt]sx?$/, 'must end in .ts, .js, .mts, .mjs, .cts, .cjs, .tsx or .jsx')
  .nullable()
  .default(null);

/** A file that accompanies the script (check model 1.8). */
const Dependency = z.object({
  path: filePath.describe('Relative to the folder that scriptPath is relative to'),
  content: z.string().min(1).max(maxScriptLength),
});

/** Reference pictures of `toHaveScreenshot`, uploaded beforehand, each with its path among the files. */
export const Snapshots = z
  .array(
    z.object({
      key: z
        .string()
        .regex(codeBundleKey, { error: 'is not the key of an upload', abort: true })
        .refine(
          (key) => readCodeBundleKey(key).sizeBytes <= maxSnapshotBytes,
          'is not the key of a screenshot',
        ),
      path: filePath,
    }),
  )
  .max(maxDependencies)
  .nullable()
  .default(null);

export const Dependencies = z.array(Dependency).max(maxDependencies).nullable().default(null);
