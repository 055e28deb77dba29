import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { linkBrowsers } from '../../../src/sandbox/browsers/browser-links.ts';

const modulesDirectory = resolve('node_modules');
const pageProgram = resolve('src/sandbox/program/page/page-main.cjs');
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** The program of a page whose browser starts, but never reports that it has started. */
async function startingPage() {
  const directory = await mkdtemp(join(tmpdir(), 'picket-page-'));
  folders.push(directory);
  const started = join(directory, 'started');
  execFileSync('mkfifo', [started]);
  const executablePath = join(directory, 'browser');
  await writeFile(executablePath, `#!/bin/sh\necho $$ > ${started}\nexec sleep 600\n`);
  await chmod(executablePath, 0o755);
  const links = await linkBrowsers({
    directory: join(directory, 'browsers'),
    browser: { executablePath } as Parameters<typeof linkBrowsers>[0]['browser'],
    runtimes: [{ modulesDirectory }],
  });
  const job = { modulesDirectory, directory, browserArgs: [], ownVariables: {}, origins: [] };
  const program = `require(${JSON.stringify(pageProgram)}).startPage(${JSON.stringify(job)}, '', () => undefined)`;
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env['PATH'], PLAYWRIGHT_BROWSERS_PATH: links.directory },
  });
  const browserPid = Number(await readFile(started, 'utf8'));
  return { child, browserPid };
}

function isAlive(pid: number): boolean {
  try {
    // A zombie is dead, but accepts signals.
    return !/\) Z /.test(execFileSync('cat', [`/proc/${pid}/stat`], { encoding: 'utf8', stdio: 'pipe' }));
  } catch {
    return false; // the process does not exist
  }
}

it.each([
  ['its agent is gone', (child: ReturnType<typeof spawn>) => child.stdin?.end()],
  ['it is terminated', (child: ReturnType<typeof spawn>) => child.kill('SIGTERM')],
])(
  'a page ends with its browser, which is still starting, when %s',
  { timeout: 30_000 },
  async (_when, stop) => {
    const { child, browserPid } = await startingPage();
    try {
      const ended = once(child, 'exit', { signal: AbortSignal.timeout(10_000) });
      stop(child);
      await ended;
      await vi.waitFor(() => expect(isAlive(browserPid)).toBe(false), 5000);
    } finally {
      child.kill('SIGKILL');
      if (isAlive(browserPid)) process.kill(browserPid, 'SIGKILL');
    }
  },
);
