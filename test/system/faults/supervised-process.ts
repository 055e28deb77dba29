import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { program, programEnvironment } from '../../helpers/program.ts';
import { type HistoryBook, nowMs } from './history.ts';

const restartPauseMs = 500;

/**
 * A `picket` process that is restarted whenever it ends, as by an orchestrator; its output goes to a file next to the
 * histories. The caller announces kills: any other end is recorded as unexpected.
 */
export class SupervisedProcess {
  readonly name: string;
  readonly #command: string;
  readonly #program: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #book: HistoryBook;
  readonly #readinessUrl: string;
  #child: ChildProcess | undefined;
  #isWanted = false;
  #isEnding = false;
  #isReady = false;
  #isStopped = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly name: string;
    readonly command: 'agent' | 'service';
    /** Runs instead of this build. */
    readonly program?: string | undefined;
    readonly environment: Readonly<Record<string, string>>;
    readonly book: HistoryBook;
    readonly readinessUrl: string;
  }) {
    this.name = options.name;
    this.#command = options.command;
    this.#program = options.program ?? program;
    this.#environment = options.environment;
    this.#book = options.book;
    this.#readinessUrl = options.readinessUrl;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#isWanted = true;
    if (this.#child) return;
    this.#isEnding = false;
    this.#isReady = false;
    const log = openSync(join(this.#book.folder, `${this.name}.log`), 'a');
    const child = spawn(process.execPath, [this.#program, this.#command], {
      stdio: ['ignore', log, log],
      env: { ...programEnvironment, ...this.#environment },
    });
    closeSync(log);
    this.#child = child;
    this.#book.write('processes', {
      kind: 'started',
      process: this.name,
      atMs: nowMs(),
      pid: child.pid ?? 0,
    });
    this.#ended = new Promise((resolve) => {
      child.on('error', () => resolve());
      child.on('exit', (code, signal) => {
        this.#child = undefined;
        this.#isStopped = false;
        this.#book.write('processes', {
          kind: 'ended',
          process: this.name,
          atMs: nowMs(),
          isByUs: this.#isEnding,
          wasReady: this.#isReady,
          code,
          signal,
        });
        if (this.#isWanted && !this.#isEnding)
          setTimeout(() => this.#isWanted && this.start(), restartPauseMs);
        resolve();
      });
    });
  }

  /** Ends the process with a signal and keeps it down until `start`. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    this.#isEnding = true;
    if (this.#isStopped && signal !== 'SIGKILL') this.resume();
    this.#child?.kill(signal);
    await this.#ended;
  }

  stop(): void {
    this.#isStopped = this.#child?.kill('SIGSTOP') ?? false;
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
    this.#isStopped = false;
  }

  /** Limits the process to a few more descriptors than it has open; `null` removes the limit. */
  limitDescriptors(spare: number | null): void {
    const { pid } = this;
    if (pid === undefined) return;
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const hardLimit = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1]);
    const limit = spare === null ? hardLimit : readdirSync(`/proc/${pid}/fd`).length + spare;
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
    if (status !== 0) throw new Error(`prlimit of ${this.name}: ${stderr}`);
  }

  async ready(timeoutMs: number): Promise<void> {
    const endsAtMs = nowMs() + timeoutMs;
    while (!(await this.#isUp())) {
      if (nowMs() > endsAtMs) throw new Error(`${this.name} was not ready within ${timeoutMs} ms`);
      await delay(100);
    }
    this.#isReady = true;
  }

  async #isUp(): Promise<boolean> {
    try {
      const response = await fetch(this.#readinessUrl, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      return response.ok && this.#child !== undefined;
    } catch {
      return false;
    }
  }
}
