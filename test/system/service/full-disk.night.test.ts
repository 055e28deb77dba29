import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { diagnose } from '../../helpers/agent/doctor-run.ts';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { startPostgres, unprivilegedIds, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

const started: PicketProcess[] = [];
const undo: (() => void)[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const each of undo.splice(0).reverse()) each();
});

/** Mounts a separate disk. */
function disk(size: string, options = ''): string {
  const folder = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}${options}`, 'tmpfs', folder.path]);
  undo.push(() => {
    execFileSync('umount', ['-l', folder.path]);
    folder.remove();
  });
  return folder.path;
}

/** Fills the disk completely. */
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

it('reports at start which disk is full or read-only, in one line', async () => {
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
  // Room for the first files, but not for the tables.
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

it('is not ready while its disk is full, reports and counts it, and is ready again once there is room', async () => {
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
  const location = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
  const agent = { SERVICE_URL: service.url, API_KEY: location.body.keys[0].rawKey };
  const login = await fetch(`${service.url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ key: 'bootstrap-key-of-the-tests' }),
    headers: { 'sec-fetch-site': 'same-origin' },
    redirect: 'manual',
  });
  const cookie = login.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const page = async (path: string, headers: Record<string, string> = { cookie }) => {
    const answer = await fetch(service.url + path, { headers: { accept: 'text/html', ...headers } });
    return { status: answer.status, text: await answer.text() };
  };
  const trouble = /role="alert">The disk of the data directory \(DATA_DIR\) is full/;
  expect((await page('/')).text).not.toContain('role="alert"');
  expect((await diagnose(agent)).finding('service-storage')).toMatchObject({ status: 'ok' });
  const filler = fill(path);
  // The database's reserve accepts small writes for a while.
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
  for (const path of ['/', '/alerts', '/locations']) {
    const { status, text } = await page(path);
    expect([path, status, trouble.test(text)]).toEqual([path, 200, true]);
  }
  expect((await page('/login', {})).text).not.toMatch(trouble);
  expect((await diagnose(agent)).finding('service-storage')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('the service stores nothing: The disk of the data directory'),
  });
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
  expect((await page('/')).text).not.toContain('role="alert"');
  const made = await service.call('POST', '/v1/snippets', { name: 'again', script: '// x' });
  expect(made.status).toBe(201);
  expect(service.process.output()).not.toContain('internal error');
});

const noPostgres = whyNoPostgres();

it.skipIf(noPostgres !== null)(
  `reports the same if the disk of PostgreSQL is full${noPostgres ? `: ${noPostgres}` : ''}`,
  async () => {
    const server = await startPostgres();
    try {
      const space = disk('40m');
      const ids = unprivilegedIds();
      if (ids) chownSync(space, ids.uid, ids.gid);
      const databaseUrl = await server.createDatabase();
      const admin = new pg.Client({ connectionString: databaseUrl.replace(/[^/]+$/, 'postgres') });
      await admin.connect();
      const name = new URL(databaseUrl).pathname.slice(1);
      await admin.query(`create tablespace small location '${space}'`);
      await admin.query(`alter database ${name} set tablespace small`);
      const service = await startServiceProcess(
        { DATABASE_URL: databaseUrl, BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests' },
        (process) => started.push(process),
      );
      const filler = fill(space);
      let number = 0;
      // Random, so that the server cannot compress it.
      const store = () =>
        service.call('POST', '/v1/snippets', {
          name: `one ${++number}`,
          script: `// ${randomBytes(100_000).toString('base64')}`,
        });
      const refused = await until('a write is refused', async () => {
        const answer = await store();
        return answer.status === 201 ? false : answer;
      });
      expect(refused).toMatchObject({
        status: 503,
        body: {
          code: 'STORAGE_FULL',
          message: expect.stringContaining('The disk of the PostgreSQL server is full'),
        },
      });
      const unready = await until('it is not ready', async () => {
        const answer = await service.call('GET', '/-/readiness');
        return answer.status === 503 && answer;
      });
      expect(unready.body.code).toBe('STORAGE_FULL');
      rmSync(filler);
      await until(
        'it is ready again',
        async () => (await service.call('GET', '/-/readiness')).status === 200,
      );
      expect((await store()).status).toBe(201);
      await admin.end();
    } finally {
      await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
      await server.stop();
    }
  },
  120_000,
);

it('makes agents keep the files that the artifact store has no room for, and accepts them later', async () => {
  const space = disk('16m');
  const data = temporaryFolder();
  undo.push(data.remove);
  const service = await startServiceProcess(
    {
      ...{ DATA_DIR: data.path, ARTIFACT_STORE: join(space, 'files') },
      ...{ BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests', RATE_LIMIT_PER_MINUTE: '0' },
    },
    (process) => started.push(process),
  );
  const location = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
  const filler = fill(space);
  const agent = new AgentProcess({ SERVICE_URL: service.url, API_KEY: location.body.keys[0].rawKey });
  try {
    await agent.logged('connected to the service');
    const check = await service.call('POST', '/v1/checks/url', {
      ...{ name: 'evidence', frequency: 60, privateLocations: ['lab'] },
      request: { url: `http://127.0.0.1:${await closedPort()}/` },
    });
    await service.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.body.id } });
    const states = async (): Promise<string[]> => {
      const { body } = await service.call('GET', `/v1/check-results/${check.body.id}`);
      return (body.at(-1)?.artifacts ?? []).map(({ state }: { state: string }) => state);
    };
    await agent.logged('failed to send artifact; retrying');
    // The result itself is stored.
    const waiting = await until('the result is there', async () => {
      const present = await states();
      return present.length > 0 && present;
    });
    expect(waiting).not.toContain('stored');
    rmSync(filler);
    await until(
      'all are stored',
      async () => {
        const present = await states();
        return present.length === waiting.length && present.every((state) => state === 'stored');
      },
      60_000,
    );
  } finally {
    await agent.kill();
  }
}, 120_000);
