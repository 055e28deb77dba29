import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface ShellEnding {
  readonly code: number | null;
  readonly output: string;
}

export interface ShellOptions {
  readonly cwd: string;
  /** The complete environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs commands as if copied into a terminal, but stops at the first that fails. */
export async function runInShell(script: string, options: ShellOptions): Promise<ShellEnding> {
  const shell = start(script, options);
  return await shell.ended;
}

/**
 * Runs a command that does not end by itself until a condition holds, and then interrupts it with Ctrl-C.
 *
 * @throws Error with its output if it ends before that, or leaves processes behind.
 */
export async function runUntil(
  script: string,
  options: ShellOptions,
  condition: (output: string) => Promise<boolean> | boolean,
): Promise<ShellEnding> {
  const shell = startInShell(script, options);
  try {
    await shell.until(condition);
    return await shell.interrupt();
  } finally {
    shell.signal('SIGKILL');
  }
}

/** A command that runs in its own terminal while others are tested. */
export type RunningCommand = ReturnType<typeof startInShell>;

/** More than any of them takes to end after Ctrl-C. */
const graceMs = 20_000;

/** Starts a command that does not end by itself. */
export function startInShell(script: string, options: ShellOptions) {
  const shell = start(script, options);
  let isOver = false;
  const ending = shell.ended.finally(() => {
    isOver = true;
  });
  return {
    ...shell,
    /**
     * Waits until a condition holds. @throws Error with the output if the command ends before that, or the wait takes
     * too long.
     */
    async until(condition: (output: string) => Promise<boolean> | boolean): Promise<void> {
      const endsAtMs = performance.now() + 45_000;
      while (!(await condition(shell.output()))) {
        if (isOver || performance.now() > endsAtMs)
          throw new Error(`${script} was not ready\n${shell.output()}`);
        await delay(50);
      }
    },
    /** Interrupts it like Ctrl-C. A command that does not end then is killed. */
    async interrupt(): Promise<ShellEnding> {
      shell.signal('SIGINT');
      const late = setTimeout(() => shell.signal('SIGKILL'), graceMs);
      try {
        return await ending;
      } finally {
        clearTimeout(late);
        shell.signal('SIGKILL');
      }
    },
  };
}

function start(script: string, { cwd, environment }: ShellOptions) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: environment,
    // A separate process group, as in a terminal: Ctrl-C signals all of it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) endWithTests(child, child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return {
    ended,
    output: () => output,
    signal(name: NodeJS.Signals) {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, name);
      } catch (thrown) {
        // The whole group has ended.
        if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
      }
    },
  };
}

/**
 * Ends a command's group when this process is gone, even if it was killed: a group of its own does not end with it. The
 * guard reads from a pipe that only this process holds.
 */
function endWithTests(child: ChildProcess, pid: number): void {
  const guard = spawn('sh', ['-c', 'read -r _ || kill -s KILL -- "-$1"', 'guard', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  // Gone already, with a test that is over.
  guard.stdin.on('error', () => undefined);
  child.once('exit', () => guard.stdin.end('over\n'));
}
