import { join } from 'node:path';
import { endingOf } from '@picket/lib/text.ts';
import type { Sandbox, SandboxedEnd, SandboxLimits } from '../sandbox.ts';
import { OutputLines } from '../scripts/output-lines.ts';
import { privateFolder } from '../scripts/script-process.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';
import { type ManagerName, managerEnvironment } from './package-managers.ts';
import type { Toolchain } from './toolchain.ts';

export type OutputStream = 'stdout' | 'stderr';

/** Memory of a suite, over all its processes: several workers, each with a browser. */
export const suiteMemoryBytes = 4 * 1024 ** 3;
/** Disk limit of a suite: its files, dependencies, and evidence. */
export const suiteDiskBytes = 4 * 1024 ** 3;

/** Folder with the commands of Node and the package managers, first in PATH. */
export const programFolder = join(privateFolder, 'bin');

/** Folder of the manifests, in which a shared installation runs before any code of the suite. */
export const sharedFolder = join(privateFolder, 'shared');

const busyCores = 8;
const maxKeptLength = 8192;

export function suiteLimits(timeoutMs: number): SandboxLimits {
  return {
    memoryBytes: suiteMemoryBytes,
    wallMs: timeoutMs,
    cpuMs: timeoutMs * busyCores,
    processCount: 2048,
    outputBytes: 50 * 1024 * 1024,
    diskBytes: suiteDiskBytes,
  };
}

/** A command of a suite, as the customer wrote it, run by the shell. */
export interface SuiteStep {
  readonly command: string;
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onLine: (stream: OutputStream, line: string) => void;
}

/**
 * Runs a command until it and everything it started has ended; at its limit, or when the signal aborts, everything is
 * killed.
 *
 * @returns how it ended, and the last part of its output.
 * @throws SandboxUnavailable if no process can be started.
 */
export async function runStep(
  sandbox: Sandbox,
  step: SuiteStep,
): Promise<{ readonly ended: SandboxedEnd; readonly lastOutput: string }> {
  let lastOutput = '';
  const lines = new OutputLines((stream, line) => {
    lastOutput = endingOf(`${lastOutput}${line}\n`, maxKeptLength);
    step.onLine(stream, line);
  });
  const running = sandbox.start({
    path: '/bin/sh',
    args: ['-c', step.command],
    environment: step.environment,
    workingDirectory: step.workingDirectory,
    limits: suiteLimits(Math.max(1, Math.ceil(step.timeoutMs))),
    onOutput: (stream, chunk) => lines.add(stream, chunk),
  });
  const kill = () => running.kill();
  step.signal.addEventListener('abort', kill);
  if (step.signal.aborted) kill();
  running.input.on('error', () => undefined); // a command that does not read may have ended already
  running.input.end();
  try {
    const ended = await running.ended;
    lines.end();
    return { ended, lastOutput };
  } finally {
    step.signal.removeEventListener('abort', kill);
  }
}

/** Makes the programs that commands of the suite call by name. */
export async function placePrograms(sandbox: Sandbox, { programs }: Toolchain): Promise<void> {
  for (const { name, command } of programs) {
    const words = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const text = `#!/bin/sh\nexec ${words} "$@"\n`;
    await sandbox.write(join(programFolder, name), text, { isProgram: true });
  }
}

/** The environment of a command. */
export function stepEnvironment(
  { directory }: Sandbox,
  step: {
    /** Its working directory, below the sandbox. */
    readonly folder: string;
    /** The manager of the suite's lockfile. */
    readonly manager: ManagerName | null;
    readonly proxyUrl: string | null;
    readonly trust: ScriptTrust | undefined;
    readonly variables: Readonly<Record<string, string>>;
  },
): Record<string, string> {
  const { proxyUrl } = step;
  const proxy: Record<string, string> =
    proxyUrl === null ? {} : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
  const path = [
    join(directory, programFolder),
    join(directory, step.folder, 'node_modules/.bin'),
    '/usr/local/bin:/usr/bin:/bin',
  ].join(':');
  return {
    ...managerEnvironment(step.manager),
    ...proxy,
    ...step.trust?.environment,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ...step.variables,
    HOME: directory,
    PATH: path,
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
}
