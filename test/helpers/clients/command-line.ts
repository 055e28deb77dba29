import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { programEnvironment } from '../program.ts';
import { installedClients } from './installed-clients.ts';

/** Result of a command. */
export interface CommandEnd {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams as a user would read them, also for assertion messages. */
  readonly output: string;
}

export interface CommandSettings {
  /** The service, as `http://127.0.0.1:1234`. */
  readonly service: string;
  readonly key: string;
  readonly account: string;
  /** The working directory of the command: a project, for commands that read one. */
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Longer than any command that does not hang. */
const hungAfterMs = 300_000;

/**
 * Runs the unchanged command line of the `checkly` package from the registry like a build job: without a terminal, with
 * its own home folder, and with only PATH and Node's compile cache from this process's environment.
 */
export async function runCommandLine(
  args: readonly string[],
  settings: CommandSettings,
): Promise<CommandEnd> {
  const modules = await installedClients();
  const home = await mkdtemp(join(tmpdir(), 'picket-client-home-'));
  try {
    const child = spawn(process.execPath, [join(modules, 'checkly', 'bin', 'run.cjs'), ...args], {
      cwd: settings.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: hungAfterMs,
      killSignal: 'SIGKILL',
      env: {
        ...programEnvironment,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
        HOME: home,
        CI: 'true',
        NO_COLOR: '1',
        CHECKLY_ENV: 'local',
        CHECKLY_API_URL: settings.service,
        CHECKLY_MQTT_URL: settings.service.replace(/^http/, 'ws'),
        CHECKLY_API_KEY: settings.key,
        CHECKLY_ACCOUNT_ID: settings.account,
        // Without this it queries the registry for a newer version.
        CHECKLY_SKIP_NEW_VERSION_CHECK: 'true',
        ...settings.environment,
      },
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', (code) => resolve(code));
    });
    const [exitCode, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { exitCode, stdout, stderr, output: `${stdout}${stderr}` };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
