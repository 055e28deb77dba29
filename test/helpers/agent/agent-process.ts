import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { program, programEnvironment } from '../program.ts';

/** Default key of agents in tests. */
export const agentKey = 'pl_0123456789abcdef';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/** A real agent in its own process. */
export class AgentProcess {
  readonly child: ChildProcess;
  readonly logLines: LogLine[] = [];
  stderr = '';
  /** Everything the process printed to stdout. */
  stdout = '';
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #waiters = new Set<() => void>();
  /** Its own spool, unless the test names one. */
  readonly #spoolDir = mkdtempSync(join(tmpdir(), 'picket-agent-test-'));

  /**
   * @param nodeArguments for example modules to preload.
   * @param wrapper a program that starts the agent, and its arguments.
   */
  constructor(
    environment: Readonly<Record<string, string>>,
    nodeArguments: readonly string[] = [],
    wrapper: readonly string[] = [],
  ) {
    const [command = '', ...commandArguments] = [
      ...wrapper,
      process.execPath,
      ...nodeArguments,
      program,
      'agent',
    ];
    this.child = spawn(command, commandArguments, {
      env: {
        ...programEnvironment,
        API_KEY: agentKey,
        AGENT_HEALTH_PORT: '0',
        LOG_LEVEL: 'debug',
        // Only tests of scripts name the runtimes, so that no other test waits for the agent to inspect them.
        RUNTIMES_DIR: '/nonexistent',
        SPOOL_DIR: this.#spoolDir,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        rmSync(this.#spoolDir, { recursive: true, force: true });
        resolve({ code, signal });
      });
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    if (this.child.stdout) {
      createInterface(this.child.stdout).on('line', (line) => {
        this.stdout += `${line}\n`;
        try {
          this.logLines.push(JSON.parse(line) as LogLine);
        } catch {
          // Not a log line; stdout contains it anyway.
        }
        for (const look of [...this.#waiters]) look();
      });
    }
  }

  /** The first log line whose message contains the text. */
  async logged(text: string, timeoutMs = 90_000): Promise<LogLine> {
    const find = () => this.logLines.find(({ msg }) => msg?.includes(text));
    const first = find();
    if (first) return first;
    return await new Promise<LogLine>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`no log line with "${text}" in:\n${this.stdout}\n${this.stderr}`));
      }, timeoutMs);
      const look = () => {
        const line = find();
        if (!line) return;
        clearTimeout(timer);
        this.#waiters.delete(look);
        resolve(line);
      };
      this.#waiters.add(look);
    });
  }

  /** Fetches a path of the health port. */
  async get(path: string, method = 'GET'): Promise<{ status: number; body: string }> {
    const { port } = await this.logged('agent starts');
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, { method });
    return { status: response.status, body: await response.text() };
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Kills the process if it still runs. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGCONT');
      this.child.kill('SIGKILL');
    }
    await this.exited;
  }
}
