import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A helper process of a benchmark with a line protocol: `ask` sends one line and resolves with the next one it prints.
 */
export interface LineProcess extends AsyncDisposable {
  readonly pid: number;
  next(): Promise<string>;
  ask(line: string): Promise<string>;
}

/** Starts `node test/bench/parts/SCRIPT ARGS`. */
export function startLineProcess(script: string, args: readonly string[] = []): LineProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { pid } = child;
  if (pid === undefined) throw new Error(`${script} did not start`);
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${script} ended early`);
    return value as string;
  };
  return {
    pid,
    next,
    async ask(line) {
      child.stdin.write(`${line}\n`);
      return await next();
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
