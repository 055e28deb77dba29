import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../lib/errors.ts';
import { type EchoAnswer, type IcmpBackend, IcmpUnavailable, type PingTrain } from './backend.ts';
import { hasSendError, parsePingOutput } from './ping-output.ts';

const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
const maxOutputBytes = 256 * 1024;

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** The program could not be started or could not do its work at all. */
class PingFailed extends Error {}

/**
 * Pings by starting the system's `ping` program (iputils), once per train. The way out where the program may what this
 * process may not: each start costs milliseconds, and a reply later than two round trips after the last request is lost.
 */
export class PingProgram implements IcmpBackend {
  readonly description: string;
  readonly clock = 'event';
  readonly #path: string;
  readonly #running = new Set<ChildProcess>();

  private constructor(path: string) {
    this.#path = path;
    this.description = `the program ${path}`;
  }

  /**
   * Finds the program and lets it ping this host.
   *
   * @throws IcmpUnavailable with the reason when there is none that works.
   */
  static async open(): Promise<PingProgram> {
    const path = folders.map((folder) => join(folder, 'ping')).find((file) => existsSync(file));
    if (path === undefined) throw new IcmpUnavailable('there is no ping program');
    const program = new PingProgram(path);
    const test = {
      address: '127.0.0.1',
      family: 4,
      count: 1,
      intervalMs: 500,
      replyTimeoutMs: 1000,
      dataBytes: 56,
    };
    try {
      const [answer] = await program.ping(test as PingTrain, new AbortController().signal);
      if (answer?.kind === 'reply') return program;
      const why = answer?.kind === 'unsent' ? answer.errno : 'no reply from 127.0.0.1';
      throw new IcmpUnavailable(`${path} does not work (${why})`);
    } catch (thrown) {
      if (thrown instanceof PingFailed) throw new IcmpUnavailable(thrown.message);
      throw thrown;
    }
  }

  async ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    if (signal.aborted) return [];
    const output = await this.#run(argumentsFor(train), signal);
    const answers = parsePingOutput(train, output);
    // A program that was stopped says nothing about requests it had not sent yet.
    return signal.aborted ? answers.filter(({ kind }) => kind === 'reply' || kind === 'error') : answers;
  }

  async close(): Promise<void> {
    const running = [...this.#running];
    const ends = running.map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const child of running) child.kill('SIGKILL');
    await Promise.all(ends);
  }

  #run(words: readonly string[], signal: AbortSignal): Promise<Output> {
    return new Promise((resolve, reject) => {
      const fail = (thrown: unknown) => {
        reject(new PingFailed(`${this.#path} cannot be started: ${reasonOf(thrown)}`));
      };
      let child: ReturnType<typeof start>;
      try {
        child = start(this.#path, words);
      } catch (thrown) {
        // Some errors, EPERM among them, are thrown instead of being emitted.
        fail(thrown);
        return;
      }
      this.#running.add(child);
      const stop = () => child.kill('SIGKILL');
      signal.addEventListener('abort', stop, { once: true });
      const settle = () => {
        signal.removeEventListener('abort', stop);
        this.#running.delete(child);
      };
      const stdout = collect(child.stdout);
      const stderr = collect(child.stderr);
      child.once('error', (error) => {
        settle();
        fail(error);
      });
      child.once('close', (code) => {
        settle();
        const output = { stdout: stdout(), stderr: stderr() };
        // 0: replies came, 1: none did, null: it was killed. Anything else is trouble, which may have a name.
        const isRun = code === 0 || code === 1 || code === null || hasSendError(output.stderr);
        if (isRun) resolve(output);
        else reject(new PingFailed(`${this.#path} failed: ${output.stderr.trim() || `exit code ${code}`}`));
      });
    });
  }
}

function start(path: string, words: readonly string[]) {
  return spawn(path, words, { argv0: 'ping', stdio: ['ignore', 'pipe', 'pipe'], env: { LC_ALL: 'C' } });
}

function argumentsFor({
  address,
  family,
  count,
  intervalMs,
  replyTimeoutMs,
  dataBytes,
  ttl,
}: PingTrain): string[] {
  return [
    '-n',
    family === 4 ? '-4' : '-6',
    ...['-c', String(count)],
    ...['-i', String(intervalMs / 1000)],
    ...['-W', String(replyTimeoutMs / 1000)],
    ...['-s', String(dataBytes)],
    ...(ttl === undefined ? [] : ['-t', String(ttl)]),
    address,
  ];
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes <= maxOutputBytes) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function reasonOf(thrown: unknown): string {
  const error = toError(thrown);
  const code = 'code' in error ? String(error.code) : error.message;
  return code === 'EPERM' ? 'EPERM (its file capability is not among those this process may have)' : code;
}
