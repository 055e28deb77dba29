import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How long a stage may take to put away what it started. */
const endMs = 60_000;

/**
 * Runs a stage of the trial as a process of its own, in process and mount namespaces of its own, with the terminal's output. When it is
 * over, the kernel ends all that was started in there, and mounts are gone. It holds a pipe on which nothing is ever said; when that is
 * closed, because the signal aborts or this process is gone, the stage has to end (`stopSignal`).
 *
 * @param namespaces further ones, as options of `unshare`.
 * @returns its exit code.
 */
export async function runStage(
  namespaces: readonly string[],
  script: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', ...namespaces],
      // The shell is the first process, which orphans are left to: it waits for them.
      ...['sh', '-c', '"$@"; exit $?', 'sh', process.execPath, script, ...args],
    ],
    // Not in the terminal's group: Ctrl-C is for us, and the pipe passes it on.
    { stdio: ['pipe', 'inherit', 'inherit'], detached: true },
  );
  child.stdin?.on('error', () => undefined);
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    child.stdin?.end();
    timer = setTimeout(() => child.kill('SIGKILL'), endMs);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  signal.removeEventListener('abort', stop);
  return signal.aborted ? 130 : (code ?? 1);
}

/** For a stage: aborted when whoever started it wants it to end, or is gone. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const abort = () => stop.abort(new Error('told to stop'));
  process.stdin.on('end', abort).on('error', abort).resume();
  return stop.signal;
}

/** Rejects when the signal aborts; for `Promise.race` with the work. */
export async function rejectOn(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}
