import childProcess, { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';

const { spawn } = childProcess;
/** All processes that were really started, in order. */
const started: ChildProcess[] = [];
childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
  const child = spawn(...args);
  started.push(child);
  return child;
}) as typeof spawn;
const { watchLaunches, startEarly, endEarly } = createRequire(import.meta.url)('./run/early-browser.cjs') as {
  watchLaunches(): void;
  startEarly(
    chromium: object,
    wanted: { readonly args: readonly string[]; readonly folder: string },
  ): Promise<void>;
  endEarly(): void;
};
watchLaunches();

let folder: string;
let program: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'picket-early-browser-'));
  program = join(folder, 'browser');
  // It answers on descriptor 4, and ends with its connection.
  writeFileSync(program, '#!/bin/sh\nread line <&3; echo "$line" >&4; exec cat <&3 >/dev/null\n');
  chmodSync(program, 0o755);
});
afterEach(() => {
  endEarly();
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});
afterAll(() => {
  childProcess.spawn = spawn;
});

/** Spawns as Playwright does. */
function launch(
  args: readonly string[] = ['--disable-gpu'],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const profile = mkdtempSync(join(folder, 'profile-'));
  const all = ['--headless', ...args, `--user-data-dir=${profile}`, '--remote-debugging-pipe'];
  return childProcess.spawn(program, all, {
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
}

/** The part of Playwright that starts a browser: it fails if it gets no process. */
const chromium = {
  launch: async ({ args }: { readonly args: readonly string[] }) => {
    const child = launch(args);
    expect(child.pid).toBeUndefined();
    await new Promise((_, reject) => child.once('error', reject));
  },
};

async function early(): Promise<ChildProcess> {
  await startEarly(chromium, { args: ['--disable-gpu'], folder: join(folder, 'early') });
  const [child] = started;
  if (!child || started.length > 1) throw new Error(`${started.length} were started, not one`);
  return child;
}

it('is the browser that Playwright gets when it spawns the same, once', async () => {
  const waiting = await early();
  const child = launch();
  expect(child).toBe(waiting);
  const [, , , input, output] = child.stdio as unknown as [
    null,
    null,
    null,
    NodeJS.WritableStream,
    NodeJS.ReadableStream,
  ];
  input.write('hello\n');
  expect(String((await once(output, 'data'))[0])).toBe('hello\n');
  expect(launch()).not.toBe(waiting);
});

it.each([
  ['other arguments', () => launch(['--enable-gpu'])],
  ['another time zone', () => launch(undefined, { ...process.env, TZ: 'Asia/Tokyo' })],
  [
    'an updated program',
    () => {
      appendFileSync(program, '# updated\n');
      return launch();
    },
  ],
])('is ended, and another one started, for %s', async (_, launchOther) => {
  const waiting = await early();
  const ended = once(waiting, 'exit');
  const child = launchOther();
  expect(child).toBe(started[1]);
  expect(child.pid).toBeGreaterThan(0);
  expect(await ended).toEqual([null, 'SIGKILL']);
});

it('is the same for a script with variables of its own', async () => {
  const waiting = await early();
  expect(launch(undefined, { ...process.env, SHOP_USER: 'ada', GITHUB_TOKEN: 'x' })).toBe(waiting);
});

it('is not one that has died', async () => {
  const waiting = await early();
  waiting.kill('SIGKILL');
  await once(waiting, 'exit');
  expect(launch()).toBe(started[1]);
});

it('that cannot start leaves Playwright its own launch, and the reason', async () => {
  rmSync(program);
  await startEarly(chromium, { args: ['--disable-gpu'], folder: join(folder, 'early') });
  const child = launch();
  const [error] = await new Promise<[NodeJS.ErrnoException]>((resolve) =>
    child.once('error', (...errors) => resolve(errors as [NodeJS.ErrnoException])),
  );
  expect(error.code).toBe('ENOENT');
});

it('does not touch other programs', () => {
  const child = childProcess.spawn('/bin/true', ['--remote-debugging-pipe']);
  expect(child).toBe(started[0]);
});
