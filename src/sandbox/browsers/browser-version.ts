import { execFile } from 'node:child_process';

const answerMs = 5_000;

/** The name and major version of a browser, such as `Chromium 142`; undefined if it does not answer. */
export function browserVersion(executablePath: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: answerMs, killSignal: 'SIGKILL', env: {} } as const;
    execFile(executablePath, ['--version'], options, (_error, stdout) => {
      const [, name, major] = /^([A-Za-z][A-Za-z ]*?) (\d+)\./m.exec(stdout) ?? [];
      resolve(major === undefined ? undefined : `${name} ${major}`);
    });
  });
}
