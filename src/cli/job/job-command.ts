import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { maxBodyBytes } from '@picket/checks/heartbeat/spec.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { OutputTail } from './output-tail.ts';

export interface JobOptions {
  /** Address of the heartbeat monitor. */
  readonly url?: string | undefined;
  /** False: the output of the job is not sent. */
  readonly output: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const pingTimeoutMs = 10_000;
/** Pauses between the tries of a ping; the last try follows the last pause. */
const pausesMs = [500, 1_000, 2_000, 4_000];
/** Exit codes of shells: a command that was not found, and one that a signal ended. */
const notFound = 127;
const bySignal = 128;

/**
 * Runs a command as the job of a heartbeat monitor: sends its start, passes its input and output through, and sends its
 * exit code with the end of its output. The job runs and keeps its exit code whatever becomes of the pings.
 *
 * @returns the exit code of the command.
 * @throws AppError CONFIG_INVALID without a usable address
 */
export async function jobCommand(command: readonly string[], options: JobOptions): Promise<number> {
  const url = pingUrl(options);
  const runId = randomUUID();
  // The job does not wait for its start to be reported, but its end does.
  const started = ping(`${url}/start`, runId);
  const tail = new OutputTail(maxBodyBytes);
  const exitCode = await run(command, options.output ? tail : undefined);
  await started;
  await ping(`${url}/${exitCode}`, runId, options.output ? tail.bytes() : undefined);
  return exitCode;
}

function pingUrl({ url, env }: JobOptions): string {
  const text = (url ?? env['PING_URL'] ?? '').trim();
  const parsed = URL.parse(text);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || !/\/v1\/ping\/[^/]+\/?$/.test(parsed.pathname)) {
    throw new AppError(
      'CONFIG_INVALID',
      'The ping URL of a heartbeat monitor is needed, as its page shows it: --url URL, or the variable PING_URL.',
    );
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/$/, '')}`;
}

/** Runs a command and returns its exit code; without a tail its output is not read. */
async function run(command: readonly string[], tail: OutputTail | undefined): Promise<number> {
  const [program = '', ...parameters] = command;
  const output = tail ? 'pipe' : 'inherit';
  const child = spawn(program, parameters, { stdio: ['inherit', output, output] });
  child.stdout?.on('data', (chunk: Buffer) => tail?.add(chunk)).pipe(process.stdout, { end: false });
  child.stderr?.on('data', (chunk: Buffer) => tail?.add(chunk)).pipe(process.stderr, { end: false });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of signals) process.on(signal, pass);
  try {
    return await new Promise<number>((resolve) => {
      child.once('error', (error) => {
        process.stderr.write(`picket: ${error.message}\n`);
        tail?.add(Buffer.from(error.message));
        resolve(notFound);
      });
      child.once('close', (code, signal) =>
        resolve(code ?? bySignal + (signal ? constants.signals[signal] : 0)),
      );
    });
  } finally {
    for (const signal of signals) process.off(signal, pass);
  }
}

/** Sends a ping, and tries again while the service does not respond. A lost ping is reported, and nothing more. */
async function ping(url: string, runId: string, body?: Buffer): Promise<void> {
  let problem = '';
  for (const pauseMs of [...pausesMs, null]) {
    try {
      const response = await fetch(`${url}?rid=${runId}`, {
        method: 'POST',
        signal: AbortSignal.timeout(pingTimeoutMs),
        ...(body ? { body: new Uint8Array(body), headers: { 'content-type': 'text/plain' } } : {}),
      });
      if (response.ok) return;
      problem = `the service answered ${response.status}`;
      if (response.status < 500 && response.status !== 429) break;
    } catch (thrown) {
      const { cause, message } = toError(thrown);
      problem = cause === undefined ? message : toError(cause).message;
    }
    if (pauseMs !== null) await setTimeout(pauseMs);
  }
  process.stderr.write(`picket: a ping was not delivered: ${problem}\n`);
}
