import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';

const endWithParent = new URL('./end-with-parent.mjs', import.meta.url).href;

/** As in the images: a part takes less memory. */
const nodeOptions = ['--max-semi-space-size=8', '--min-semi-space-size=8'];
const memoryEnvironment = { MALLOC_ARENA_MAX: '2' };

/** A part of Picket that `npm start` runs: service, agent or the sample targets. */
export interface Child {
  readonly name: string;
  readonly process: ChildProcess;
  /** Resolves with the exit code once the process has ended (null after a signal). */
  readonly ended: Promise<number | null>;
}

/**
 * Starts `node script args` in a process group of its own, so that a Ctrl-C in the terminal reaches only this process,
 * which stops the parts in the right order. Its log goes to `logFile`; with `pipeOutput` the caller reads its standard
 * output.
 */
export function startChild(options: {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly pipeOutput?: boolean;
  /** A command that executes the process, with its arguments. */
  readonly wrapper?: readonly string[];
}): Child {
  const own = [process.execPath, ...nodeOptions, '--import', endWithParent, options.script, ...options.args];
  const [command = '', ...args] = [...(options.wrapper ?? []), ...own];
  const child = spawn(command, args, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...memoryEnvironment, ...process.env, ...options.environment },
  });
  const log = createWriteStream(options.logFile, { flags: 'a', mode: 0o600 });
  if (!options.pipeOutput) child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => log.end(() => resolve(code)));
  });
  return { name: options.name, process: child, ended };
}

/** Waits until `isReady` resolves with true; fails if the child ends first, with the path of its log. */
export async function untilReady(
  child: Child,
  logFile: string,
  isReady: () => Promise<boolean>,
): Promise<void> {
  let isEnded = false;
  void child.ended.then(() => {
    isEnded = true;
  });
  while (!(await isReady())) {
    if (isEnded) throw new Error(`the ${child.name} ended while starting; see ${logFile}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends SIGTERM to a child and waits for its end. */
export async function stopChild(child: Child): Promise<number | null> {
  if (child.process.exitCode === null && child.process.signalCode === null) child.process.kill('SIGTERM');
  return await child.ended;
}
