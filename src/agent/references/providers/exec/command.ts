import { spawn } from 'node:child_process';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { ReferenceProblem } from '../../problem.ts';

const usualTimeoutMs = 10_000;
const maxOutputBytes = 1_048_576;

/**
 * Runs a command and returns its standard output without white space at its ends. Its standard error is not read: it
 * could contain a secret. The command and its children end with its time limit.
 *
 * @throws ReferenceProblem if it does not start, fails, takes longer than `timeoutMs`, or prints more than 1 MiB.
 */
export function outputOf(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
  timeoutMs = usualTimeoutMs,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: environment,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      // A group of its own, so that its children end with it.
      detached: true,
    });
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let problem: ReferenceProblem | undefined;
    const end = (reason: ReferenceProblem) => {
      problem ??= reason;
      killGroup(child.pid);
      // A child in a group of its own might keep the pipe open.
      child.stdout.destroy();
    };
    const limit = setTimeout(
      () => end(new ReferenceProblem('TIMED_OUT', `the command did not end within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const onAbort = () => end(new ReferenceProblem('FAILED', 'the agent stops'));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    child.stdout.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= maxOutputBytes) chunks.push(chunk);
      else end(new ReferenceProblem('TOO_LARGE', `the command printed more than ${maxOutputBytes} bytes`));
    });
    const settle = (found: ReferenceProblem | undefined) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', onAbort);
      if (found) reject(found);
      else resolve(Buffer.concat(chunks).toString('utf8').trim());
    };
    child.once('error', (thrown) => {
      const code = errorCodeOf(thrown);
      if (code === 'ENOENT') return settle(new ReferenceProblem('NOT_FOUND', 'the command does not exist'));
      const reason = code === 'EACCES' || code === 'EPERM' ? 'DENIED' : 'FAILED';
      settle(new ReferenceProblem(reason, `the command cannot be started: ${code}`));
    });
    child.once('close', (exitCode, killedBy) => {
      if (problem || exitCode === 0) return settle(problem);
      const how = exitCode === null ? `was ended by ${killedBy}` : `ended with exit code ${exitCode}`;
      settle(new ReferenceProblem('FAILED', `the command ${how}`, exitCode ?? undefined));
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (thrown) {
    // It has ended already.
    if (errorCodeOf(thrown) !== 'ESRCH') throw thrown;
  }
}
