import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const stopMs = 10_000;

/** A program of the cluster that runs until it is stopped; its output goes to a file. */
export class Daemon implements AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;

  constructor(options: {
    readonly name: string;
    readonly program: string;
    readonly args: readonly string[];
    readonly logFile: string;
    readonly environment?: Readonly<Record<string, string>>;
  }) {
    this.name = options.name;
    this.logFile = options.logFile;
    const log = openSync(options.logFile, 'w');
    this.#child = spawn(options.program, options.args, {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...options.environment },
    });
    closeSync(log);
    this.#child.on('error', () => undefined);
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits until something that it does is there. @throws Error with the end of its log when it ends, or takes too long. */
  async until(what: string, condition: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const endsAtMs = performance.now() + timeoutMs;
    while (!(await condition())) {
      const isLate = performance.now() > endsAtMs;
      if (!this.isRunning || isLate) {
        const why = isLate ? `not within ${Math.round(timeoutMs / 1000)} s` : `${this.name} ended`;
        throw new Error(`${what}: ${why}\n${readFileSync(this.logFile, 'utf8').slice(-4000)}`);
      }
      await delay(250);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isRunning) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await Promise.race([exited, delay(stopMs, undefined, { ref: false })]);
    this.#child.kill('SIGKILL');
  }
}
