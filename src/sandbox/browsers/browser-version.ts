import { execFile } from 'node:child_process';

const answerMs = 5_000;

const known = new Map<string, Promise<string | undefined>>();

/**
 * The name and major version of a browser, such as `Chromium 142`; undefined if it does not answer. It is asked once:
 * another browser at the same path comes with another agent.
 */
export function browserVersion(executablePath: string): Promise<string | undefined> {
  const version = known.get(executablePath) ?? ask(executablePath);
  known.set(executablePath, version);
  return version;
}

function ask(executablePath: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: answerMs, killSignal: 'SIGKILL', env: {} } as const;
    execFile(executablePath, ['--version'], options, (_error, stdout) => {
      const [, name, major] = /^([A-Za-z][A-Za-z ]*?) (\d+)\./m.exec(stdout) ?? [];
      resolve(major === undefined ? undefined : `${name} ${major}`);
    });
  });
}
