import { join } from 'node:path';
import { programDirectory } from '../program-directory.ts';
import type { Runtime } from '../runtimes/runtimes.ts';
import type { Sandbox, SandboxedProcess, SandboxLimits } from '../sandbox.ts';
import type { LaunchOptions } from './waiting-script.ts';

/** A process in a sandbox of its own that waits to be told which scripts to run around a run. It is used for one run. */
export interface WaitingPhases {
  readonly runtime: Runtime;
  readonly sandbox: Sandbox;
  readonly process: SandboxedProcess;
  /** From now on; what came before was no script's. */
  listen(listener: {
    readonly onError: (chunk: Buffer) => void;
    readonly onEvent: (line: string) => void;
  }): void;
}

/** Memory of the scripts around a run: they have no browser. */
export const phaseMemoryBytes = 512 * 1024 ** 2;
/** What V8 may use of it, so that a script that fills its memory ends by itself where nothing but counting bounds it. */
const maxHeapMb = 384;
/** How long a process may wait, and how long the scripts of one run and what is between them can take at most. */
export const maxPhaseWaitMs = 15 * 60_000;
const maxRunMs = 10 * 60_000;

const program = join(programDirectory, 'phases.cjs');

/** The time limit here is the last line: each script has one of its own. */
const limits: SandboxLimits = {
  memoryBytes: phaseMemoryBytes,
  wallMs: maxPhaseWaitMs + maxRunMs,
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
export async function launchPhases(
  sandbox: Sandbox,
  runtime: Runtime,
  options: LaunchOptions,
): Promise<WaitingPhases> {
  await sandbox.link('node_modules', runtime.modulesDirectory);
  let listener: Parameters<WaitingPhases['listen']>[0] | undefined;
  const process = sandbox.start({
    path: options.nodePath,
    args: [
      `--max-old-space-size=${maxHeapMb}`,
      program,
      runtime.modulesDirectory,
      ...(options.isAhead ? ['ahead'] : []),
    ],
    environment: {
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      ...options.trust?.environment,
    },
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
