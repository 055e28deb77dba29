import { ApiClient } from './client.ts';
import type { Shown } from './command.ts';
import { readApiSettings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const widthOfFiles = 80;

/** Returns a client for the service that the environment or `picket login` names. */
export async function asking(environment: Environment): Promise<ApiClient> {
  return new ApiClient(await readApiSettings(environment));
}

/** Prints the output of a command, and sets the exit code. */
export function show({ json, lines, exitCode = 0 }: Shown, isJson: boolean): void {
  if (isJson) console.log(JSON.stringify(json));
  else for (const line of lines(process.stdout.columns ?? widthOfFiles)) console.log(line);
  process.exitCode = exitCode;
}

/** Shows the current operation in one line on standard error, on terminals only. */
export function showProgress(output: NodeJS.WriteStream = process.stderr): {
  say(text: string): void;
  end(): void;
} {
  if (!output.isTTY) return { say: () => undefined, end: () => undefined };
  return {
    say: (text) => void output.write(`\r\u001b[2K${text} …`),
    end: () => void output.write('\r\u001b[2K'),
  };
}
