import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { program, programEnvironment } from './program.ts';

/** A real `picket` process under test. */
export interface PicketProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Everything it has printed so far, on both streams. */
  output(): string;
  /** Sends a signal and resolves once the process has ended. */
  kill(signal: NodeJS.Signals): Promise<Ending>;
  readonly ended: Promise<Ending>;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Runs `picket ARGS` with only the given variables and PATH. @param nodeArguments arguments of Node itself. */
export function startPicket(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  nodeArguments: readonly string[] = [],
): PicketProcess {
  const child = spawn(process.execPath, [...nodeArguments, program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...programEnvironment, ...environment },
  });
  const chunks: string[] = [];
  child.stdout.on('data', (data) => chunks.push(String(data)));
  child.stderr.on('data', (data) => chunks.push(String(data)));
  const ended = new Promise<Ending>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error('picket did not start');
  return {
    child,
    pid,
    output: () => chunks.join(''),
    async kill(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return await ended;
    },
    ended,
  };
}

/** Waits until a condition holds. Fails with the process's output if the process ends first or the time is over. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  options: { readonly timeoutMs?: number; readonly process?: PicketProcess } = {},
): Promise<void> {
  const endsAt = performance.now() + (options.timeoutMs ?? 90_000);
  // Conditions that do not hold at once mostly take seconds, and frequent polling would slow them down.
  for (let pauseMs = 20; ; pauseMs = Math.min(100, pauseMs * 1.2)) {
    if (await condition()) return;
    const { process } = options;
    const isGone =
      process !== undefined && (process.child.exitCode !== null || process.child.signalCode !== null);
    if (isGone || performance.now() > endsAt) {
      throw new Error(`${what} did not happen\n${process?.output() ?? ''}`);
    }
    await delay(pauseMs);
  }
}

/** True when the URL answers with a success status. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // the port is not open yet
  }
}

/** A real service with its own empty database, and a key for its API. */
export interface RunningService extends AsyncDisposable {
  readonly process: PicketProcess;
  readonly url: string;
  readonly dataDir: string;
  /** Calls the API and returns the decoded response; throws on any status other than a success. */
  api<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>;
}

export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  nodeArguments: readonly string[] = [],
): Promise<RunningService> {
  const dataDir = environment.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'picket-service-')));
  const port = Number(environment.PORT ?? (await freePort()));
  const apiKey = 'test-key-of-the-first-account';
  const url = `http://127.0.0.1:${port}`;
  const variables = {
    PORT: String(port),
    DATA_DIR: dataDir,
    BOOTSTRAP_API_KEY: apiKey,
    LOG_LEVEL: 'warn',
    // Tests poll until something happens.
    RATE_LIMIT_PER_MINUTE: '0',
    ...environment,
  };
  const process = startPicket(['service'], variables, nodeArguments);
  await until('the service is ready', () => answersOk(`${url}/-/readiness`), { process });
  return {
    process,
    url,
    dataDir,
    async api<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return (text === '' ? null : JSON.parse(text)) as T;
    },
    async [Symbol.asyncDispose]() {
      await process.kill('SIGTERM');
      if (environment.DATA_DIR === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A real agent for a location of a service. */
export interface RunningAgent extends AsyncDisposable {
  readonly process: PicketProcess;
  readonly healthUrl: string;
}

export async function startAgentProcess(
  options: { readonly serviceUrl: string; readonly key: string },
  environment: Readonly<Record<string, string>> = {},
  nodeArguments: readonly string[] = [],
): Promise<RunningAgent> {
  const port = Number(environment.AGENT_HEALTH_PORT ?? (await freePort()));
  const healthUrl = `http://127.0.0.1:${port}`;
  const variables = {
    API_KEY: options.key,
    SERVICE_URL: options.serviceUrl,
    AGENT_HEALTH_PORT: String(port),
    LOG_LEVEL: 'warn',
    // Only tests of scripts name the runtimes: no other test warms up sandboxes.
    RUNTIMES_DIR: '/nonexistent',
    ...environment,
  };
  const process = startPicket(['agent'], variables, nodeArguments);
  await until('the agent is ready', () => answersOk(`${healthUrl}/-/readiness`), { process });
  return {
    process,
    healthUrl,
    async [Symbol.asyncDispose]() {
      await process.kill('SIGKILL');
    },
  };
}

/** Creates a private location and returns its slug and a key for agents. */
export async function createLocation(
  service: RunningService,
  slugName: string,
): Promise<{ id: string; slugName: string; key: string }> {
  const location = await service.api<{ id: string; keys: { rawKey: string }[] }>(
    'POST',
    '/v1/private-locations',
    {
      name: slugName,
      slugName,
    },
  );
  return { id: location.id, slugName, key: location.keys[0]?.rawKey ?? '' };
}

/** CPU time a process and its threads have used, in milliseconds (Linux). */
export async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return ticks * 10; // the kernel counts in hundredths of a second on every supported Linux
}
