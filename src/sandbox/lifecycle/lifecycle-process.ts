import { join } from 'node:path';
import type { Runtime } from '../runtimes/runtimes.ts';
import { programDirectory, type Sandbox, type SandboxedProcess, type SandboxLimits } from '../sandbox.ts';
import type { LaunchOptions } from '../scripts/script-process.ts';

/** A process in its own sandbox that waits for the setup and teardown scripts of one run. */
export interface LifecycleProcess {
  readonly runtime: Runtime;
  readonly sandbox: Sandbox;
  readonly process: SandboxedProcess;
  /** Receives output from now on; earlier output did not come from a script. */
  listen(listener: {
    readonly onError: (chunk: Buffer) => void;
    readonly onEvent: (line: string) => void;
  }): void;
}

/** Memory of the setup and teardown scripts of a run: they have no browser. */
export const lifecycleMemoryBytes = 512 * 1024 ** 2;
/** V8's share of it, so that a script that exhausts its memory ends even if memory is only polled. */
const maxHeapMb = 384;
/** Maximum waiting time of a process, and maximum time for the scripts of one run including the time between them. */
export const maxLifecycleWaitMs = 15 * 60_000;
const maxRunMs = 10 * 60_000;

const program = join(programDirectory, 'lifecycle/lifecycle-main.cjs');

/** This time limit is the last resort: each script has its own. */
const limits: SandboxLimits = {
  memoryBytes: lifecycleMemoryBytes,
  wallMs: maxLifecycleWaitMs + maxRunMs,
  cpuMs: 240_000,
  processCount: 128,
  outputBytes: 20 * 1024 * 1024,
  diskBytes: 100 * 1024 * 1024,
};

/**
 * Starts a process for the scripts of a future run, in a fresh sandbox.
 *
 * @throws SandboxUnavailable if no process can be started.
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
    isOwnUntilInput: true,
    // Scripts' output arrives as events; this is output of Node itself.
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') listener?.onError(chunk);
    },
    onEvent: (line) => {
      if (listener) listener.onEvent(line);
      else if (line.includes('"event":"loaded"')) options.onLoaded?.();
    },
  });
  // If a process ends before it has read its job, its end is reported anyway.
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
