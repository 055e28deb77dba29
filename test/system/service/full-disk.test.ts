import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';

const started: PicketProcess[] = [];
const undo: (() => void)[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const each of undo.splice(0).reverse()) each();
});

/** A disk of its own. */
function disk(size: string, options = ''): string {
  const folder = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}${options}`, 'tmpfs', folder.path]);
  undo.push(() => {
    execFileSync('umount', ['-l', folder.path]);
    folder.remove();
  });
  return folder.path;
}

/** Leaves no byte free. */
function fill(path: string): string {
  const file = join(path, 'filler');
  try {
    for (;;) writeFileSync(file, Buffer.alloc(65_536), { flag: 'a' });
  } catch {
    return file;
  }
}

async function start(environment: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
  const process = startPicket(['service'], { PORT: '0', HOST: '127.0.0.1', ...environment });
  started.push(process);
  const { code } = await process.ended;
  const lines = process.output().split('\n');
  return { code, lines: lines.filter((line) => line !== '' && !line.startsWith('{"level":"info"')) };
}

it('says at start which disk is full or read-only, in one line', async () => {
  const full = disk('64k');
  fill(full);
  expect(await start({ DATA_DIR: join(full, 'data') })).toEqual({
    code: 1,
    lines: [
      expect.stringMatching(
        /^picket: DATA_DIR: the disk of \S+ is full \(0 MB of 0 MB free\)\. Free at least 100 MB/,
      ),
    ],
  });
  // Room for the first files, not for the tables.
  expect(await start({ DATA_DIR: join(disk('1500k'), 'data') })).toMatchObject({
    code: 1,
    lines: [expect.stringMatching(/^picket: DATA_DIR: the disk of \S+ is full/)],
  });
  expect(await start({ DATA_DIR: join(disk('64k', ',ro'), 'data') })).toMatchObject({
    code: 2,
    lines: [expect.stringMatching(/its file system is read-only/)],
  });
  const artifacts = join(disk('64k', ',ro'), 'files');
  const data = temporaryFolder();
  undo.push(data.remove);
  expect(await start({ DATA_DIR: data.path, ARTIFACT_STORE: artifacts })).toMatchObject({
    code: 2,
    lines: [expect.stringMatching(/^picket: ARTIFACT_STORE: .* read-only/)],
  });
});

it('is not ready while its disk is full, says so, counts it, and is ready again once there is room', async () => {
  const path = disk('24m');
  const data = join(path, 'data');
  mkdirSync(data);
  const service = await startServiceProcess(
    {
      DATA_DIR: data,
      BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests',
      METRICS_TOKEN: 'metrics-token-of-the-tests',
    },
    (process) => started.push(process),
  );
  expect((await service.call('GET', '/-/readiness')).status).toBe(200);
  const filler = fill(path);
  // What the database has in reserve takes small writes for a while.
  const refused = await until('a write is refused', async () => {
    const answer = await service.call('POST', '/v1/snippets', { name: 'one', script: '// x'.repeat(10_000) });
    return answer.status === 201 ? false : answer;
  });
  expect(refused).toMatchObject({
    status: 503,
    body: { code: 'STORAGE_FULL', message: expect.stringContaining('data directory (DATA_DIR) is full') },
  });
  const unready = await until('it is not ready', async () => {
    const answer = await service.call('GET', '/-/readiness');
    return answer.status === 503 && answer;
  });
  expect(unready.body).toMatchObject({ code: 'STORAGE_FULL', message: expect.stringContaining('is full') });
  const reading = await service.call('GET', '/v1/snippets');
  expect(reading.status).toBe(200);
  const metrics = async () => {
    const response = await fetch(`${service.url}/metrics`, {
      headers: { authorization: 'Bearer metrics-token-of-the-tests' },
    });
    return response.text();
  };
  const text = await metrics();
  expect(text).toMatch(/picket_storage_free_bytes\{place="database"\} \d+/);
  expect(text).toMatch(/picket_storage_refused_writes_total\{place="database"\} [1-9]/);
  rmSync(filler);
  await until('it is ready again', async () => (await service.call('GET', '/-/readiness')).status === 200);
  const made = await service.call('POST', '/v1/snippets', { name: 'again', script: '// x' });
  expect(made.status).toBe(201);
  expect(service.process.output()).not.toContain('internal error');
});
