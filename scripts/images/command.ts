import { spawn } from 'node:child_process';

export interface Finished {
  readonly code: number | null;
  /** Standard output. */
  readonly stdout: string;
  /** Both streams, in order of arrival. */
  readonly output: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Also prints the output while the program runs. */
  readonly isShown?: boolean;
}

/** Runs a program, whatever its exit code. */
export async function run(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Finished> {
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      output += text;
      if (options.isShown) process.stdout.write(text);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (options.isShown) process.stderr.write(text);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, output }));
  });
}

/**
 * Runs a program that must succeed.
 *
 * @returns its standard output, trimmed.
 * @throws Error with all of its output.
 */
export async function mustRun(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { code, stdout, output } = await run(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${output.trim()}`);
  return stdout.trim();
}

/** Whether a program is installed. */
export async function isInstalled(command: string): Promise<boolean> {
  try {
    await run(command, ['--version']);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw thrown;
  }
}
