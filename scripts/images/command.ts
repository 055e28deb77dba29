import { spawn } from 'node:child_process';

export interface Finished {
  readonly code: number | null;
  /** Standard output. */
  readonly stdout: string;
  /** Both streams, in the order in which they came. */
  readonly output: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Shows the output as it comes. */
  readonly isShown?: boolean;
}

/** Runs a program to its end, whatever that is. */
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
 * Runs a program that has to succeed.
 *
 * @returns its standard output, trimmed.
 * @throws Error with everything it printed.
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

/** Whether a program can be started at all. */
export async function isInstalled(command: string): Promise<boolean> {
  try {
    await run(command, ['--version']);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw thrown;
  }
}
