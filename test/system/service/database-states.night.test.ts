import { randomUUID } from 'node:crypto';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';

const noPostgres = whyNoPostgres();
const started: PicketProcess[] = [];
const folders: ReturnType<typeof temporaryFolder>[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const folder of folders.splice(0)) folder.remove();
});

function settings(environment: Record<string, string> = {}): Record<string, string> {
  const folder = temporaryFolder();
  folders.push(folder);
  return { DATA_DIR: folder.path, BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests', ...environment };
}

const startService = (environment: Record<string, string>) =>
  startServiceProcess(environment, (process) => started.push(process));

async function query(databaseUrl: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

/** A closed port. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe.skipIf(noPostgres !== null)(`a service on PostgreSQL${noPostgres ?? ''}`, () => {
  let server: PostgresServer;
  let other: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    other = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
    await other?.stop();
  });

  it('uses the given host that accepts writes', async () => {
    const name = `hosts_${randomUUID().replaceAll('-', '')}`;
    const urls = await Promise.all(
      [server, other].map(async (one) => {
        const url = await one.createDatabase();
        await query(url, `create database ${name}`);
        return new URL(Object.assign(new URL(url), { pathname: `/${name}` }).href);
      }),
    );
    await query(String(urls[0]), `alter database ${name} set default_transaction_read_only = on`);
    const hosts = [`127.0.0.1:${await deadPort()}`, ...urls.map((url) => url.host)].join(',');
    const service = await startService(settings({ DATABASE_URL: `postgres://picket@${hosts}/${name}` }));
    expect((await service.call('GET', '/-/readiness')).status).toBe(200);
    const made = await service.call('POST', '/v1/snippets', { name: 'one', script: '// x' });
    expect(made.status).toBe(201);
    await query(String(urls[1]), 'select 1 from accounts');
  });

  it('is not ready, and responds with 503, while the database accepts no writes', async () => {
    const databaseUrl = await server.createDatabase();
    const service = await startService(settings({ DATABASE_URL: databaseUrl }));
    const name = new URL(databaseUrl).pathname.slice(1);
    await query(databaseUrl, `alter database ${name} set default_transaction_read_only = on`);
    const { rows } = await query(databaseUrl, 'select clock_timestamp()::text as at');
    // Existing connections keep their state, also those that are still being opened: as at a failover, they end.
    await until('none that takes writes is left', async () => {
      const { rowCount } = await query(
        databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_start < '${rows[0].at}'`,
      );
      return rowCount === 0;
    });
    await until('it is not ready', async () => (await service.call('GET', '/-/readiness')).status === 503);
    // The first responses may be about the terminated connections.
    await until('it says why', async () => {
      const { status, body } = await service.call('POST', '/v1/snippets', { name: 'one', script: '// x' });
      expect(status).toBe(503);
      return body.message === 'The database server is a standby and accepts no writes.';
    });
    expect(service.process.output()).not.toContain('internal error');
  });

  it('responds with 503, and logs no fault of its own, when a statement is cancelled', async () => {
    const databaseUrl = await server.createDatabase();
    const service = await startService(settings({ DATABASE_URL: databaseUrl }));
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    await locker.query('begin; lock table snippets in access exclusive mode');
    const listing = service.call('GET', '/v1/snippets');
    await until('the request waits for the lock', async () => {
      const { rows } = await query(
        databaseUrl,
        `select pg_cancel_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%snippets%'`,
      );
      return rows.length > 0;
    });
    expect((await listing).status).toBe(503);
    await locker.query('rollback');
    await locker.end();
    expect(service.process.output()).not.toContain('internal error');
    expect((await service.call('GET', '/v1/snippets')).status).toBe(200);
  });

  it('reports how many connections it needs if none is left', async () => {
    const databaseUrl = await server.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    const role = `few_${randomUUID().replaceAll('-', '')}`;
    await query(databaseUrl, `create role ${role} login connection limit 0`);
    await query(databaseUrl, `alter database ${name} owner to ${role}`);
    const few = Object.assign(new URL(databaseUrl), { username: role }).href;
    const process = startPicket(['service'], {
      PORT: '0',
      ...settings({ DATABASE_URL: few, DATABASE_POOL_SIZE: '7' }),
    });
    started.push(process);
    expect((await process.ended).code).toBe(2);
    expect(process.output()).toMatch(/up to 9: DATABASE_POOL_SIZE/);
  });
});

describe('a service on SQLite', () => {
  it('is not ready once its file turns out to be damaged', async () => {
    const environment = settings();
    const first = await startService(environment);
    for (let index = 0; index < 300; index += 1) {
      await first.call('POST', '/v1/snippets', { name: `snippet ${index}`, script: '// x'.repeat(500) });
    }
    await first.process.kill('SIGTERM');
    const path = join(environment.DATA_DIR ?? '', 'picket.sqlite');
    const { size } = statSync(path);
    const file = openSync(path, 'r+');
    // The end of the file: pages of the snippets, not of the schema.
    writeSync(
      file,
      Buffer.alloc(Math.floor(size / 3), 0xa5),
      0,
      Math.floor(size / 3),
      Math.floor((size * 2) / 3),
    );
    closeSync(file);
    const service = await startService(environment);
    const answers = await service.call('GET', '/v1/snippets?limit=100&page=2');
    expect([answers.status, answers.body.message]).toEqual([
      503,
      'The database is damaged. Restore a backup: "picket service restore".',
    ]);
    expect((await service.call('GET', '/-/readiness')).status).toBe(503);
  });
});
