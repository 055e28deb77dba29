import { join } from 'node:path';
import type { Runtime } from '../runtimes/runtimes.ts';
import { programDirectory, type Sandbox, type SandboxedProcess, type SandboxLimits } from '../sandbox.ts';
import type { LaunchOptions } from '../scripts/script-process.ts';

/** A process in its own sandbox that waits for the setup and teardown scripts of one run. */
export interface LifecycleProcess {
  readonly runtime: Runtime;
  readonly sandbox: Sandbox;
  readonly process: SandboxedProcess;
  /** From now on; what came before was not a script's. */
  listen(listener: {
    readonly onError: (chunk: Buffer) => void;
    readonly onEvent: (line: string) => void;
  }): void;
}

/** Memory of the setup and teardown scripts of a run: they have no browser. */
export const lifecycleMemoryBytes = 512 * 1024 ** 2;
/** What V8 may use of it, so that a script that fills its memory ends even where only polling bounds it. */
const maxHeapMb = 384;
/**
 * How long a process may wait, and how long the scripts of one run and what is between them can take at most.
 */
export const maxLifecycleWaitMs = 15 * 60_000;
const maxRunMs = 10 * 60_000;

const program = join(programDirectory, 'lifecycle/lifecycle-main.cjs');

/** The time limit here is the last resort: each script has one of its own. */
const limits: SandboxLimits = {
  memoryBytes: lifecycleMemoryBytes,
  wallMs: maxLifecycleWaitMs + maxRunMs,
  cpuMs: 240_000,
  processCount: 128,
  outputBytes: 20 * 1024 * 1024,
  diskBytes: 100 * 1024 * 1024,
};

/**
 * Starts a process for the scripts of a run that is not known yet, in a fresh sandbox.
 *
 * @throws SandboxUnavailable when no process can be started.
 */
export async function launchLifecycle(
  sandbox: Sandbox,
  runtime: Runtime,
  options: LaunchOptions,
): Promise<LifecycleProcess> {
  await sandbox.link('node_modules', runtime.modulesDirectory);
  let listener: Parameters<LifecycleProcess['listen']>[0] | undefined;
  const process = sandbox.start({
    path: options.nodePath,
    args: [
      `--max-old-space-size=${maxHeapMb}`,
      program,
      runtime.modulesDirectory,
      ...(options.isWarm ? ['warm'] : []),
    ],
    environment: { LANG: 'C.UTF-8', TZ: 'UTC', ...options.trust?.environment },
    limits,
    // What scripts write comes as events; this is Node itself.
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') listener?.onError(chunk);
    },
    onEvent: (line) => {
      if (listener) listener.onEvent(line);
      else if (line.includes('"event":"loaded"')) options.onLoaded?.();
    },
  });
  // A process that ends before it has read its job shows in how it ended.
  process.input.on('error', () => undefined);
  return {
    runtime,
    sandbox,
    process,
    listen: (next) => {
      listener = next;
    },
  };
}
