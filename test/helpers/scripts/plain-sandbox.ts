import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { BrowserLinks } from '../../../src/sandbox/browsers/browser-links.ts';
import type { ScriptHost } from '../../../src/sandbox/host/contract.ts';
import { launchLifecycle } from '../../../src/sandbox/lifecycle/lifecycle-process.ts';
import type { LifecycleScripts } from '../../../src/sandbox/lifecycle/lifecycle-scripts.ts';
import { SandboxedLifecycle } from '../../../src/sandbox/lifecycle/lifecycle-session.ts';
import { missingRuntime, type Runtimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import type {
  Sandbox,
  SandboxedEnd,
  SandboxedProcess,
  SandboxedProgram,
} from '../../../src/sandbox/sandbox.ts';
import { launchScript } from '../../../src/sandbox/scripts/script-process.ts';

/**
 * A sandbox without isolation: a folder, a process group, and only the time and output limits. It lets tests run their
 * own scripts anywhere; isolation has separate tests.
 */
export async function createPlainSandbox(): Promise<Sandbox> {
  const directory = await mkdtemp(join(tmpdir(), 'picket-plain-sandbox-'));
  const children = new Set<ChildProcess>();
  return {
    hasOwnNetwork: false,
    directory,
    write: async (path, content, { isProgram } = {}) => {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content, { mode: isProgram ? 0o700 : 0o600 });
    },
    open: (path) => open(join(directory, path), 'r'),
    link: async (path, target) => {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await symlink(target, join(directory, path));
    },
    start: (program) => startPlain(directory, program, children),
    release: async () => {
      for (const child of children) killGroup(child, 'SIGKILL');
      // A dying browser may still write its profile.
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

function startPlain(
  directory: string,
  program: SandboxedProgram,
  children: Set<ChildProcess>,
): SandboxedProcess {
  const child = spawn(program.path, program.args, {
    cwd: join(directory, program.workingDirectory ?? '.'),
    env: {
      HOME: directory,
      TMPDIR: directory,
      PATH: '/usr/bin:/bin',
      TZ: 'UTC',
      // Loading Playwright is most of the cost of a run: its code is compiled once for all of them.
      NODE_COMPILE_CACHE: join(tmpdir(), `picket-compile-cache-${process.getuid?.()}`),
      ...program.environment,
    },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  children.add(child);
  let reason: SandboxedEnd['reason'] = 'exited';
  const end = (why: SandboxedEnd['reason']) => {
    if (reason === 'exited') reason = why;
    killGroup(child, 'SIGKILL');
  };
  const timer = setTimeout(() => end('wall'), program.limits.wallMs);
  let outputBytes = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > program.limits.outputBytes) end('output');
      else program.onOutput(stream, chunk);
    });
  }
  const events = child.stdio[3] as Readable;
  events.on('data', (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes > program.limits.outputBytes) end('output');
  });
  createInterface({ input: events }).on('line', (line) => program.onEvent?.(line));
  const ended = new Promise<SandboxedEnd>((resolve) => {
    child.on('exit', () => killGroup(child, 'SIGKILL'));
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      children.delete(child);
      resolve({ reason, exitCode, signal, peakMemoryBytes: 0, cpuMs: 0 });
    });
  });
  return {
    input: child.stdin as Writable,
    ended,
    interrupt: () => killGroup(child, 'SIGINT'),
    kill: () => end('killed'),
  };
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}

/** A host with plain sandboxes. */
export function plainHost(
  runtimes: Runtimes,
  browser: BrowserLinks | { readonly missing: string },
  suites: ScriptHost['suites'] = { missing: 'these are tests of scripts' },
): ScriptHost {
  return {
    acquire: async (wanted) =>
      await launchScript(await createPlainSandbox(), wanted.runtime, {
        nodePath: process.execPath,
        isWarm: false,
      }),
    release: ({ sandbox }) => void sandbox.release(),
    acquireSandbox: createPlainSandbox,
    runtimes,
    browser,
    otherBrowsers: [],
    suites,
  };
}

/** Runs lifecycle scripts in plain sandboxes. */
export function plainLifecycleScripts(runtimes: Runtimes): LifecycleScripts {
  return {
    open: async (order, signal) => {
      const id = order.runtimeId ?? runtimes.ids[0] ?? '';
      const runtime = runtimes.find(id);
      if (!runtime) return { missing: 'runtime', message: missingRuntime(id, runtimes) };
      const sandbox = await createPlainSandbox();
      const running = await launchLifecycle(sandbox, runtime, { nodePath: process.execPath, isWarm: false });
      return { session: new SandboxedLifecycle(running, order, signal, () => void sandbox.release()) };
    },
  };
}
