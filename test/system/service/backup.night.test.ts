import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const key = 'bootstrap-key-of-the-tests';
const secretsKey = Buffer.alloc(32, 7).toString('base64');
const noPostgres = whyNoPostgres();
const started: PicketProcess[] = [];
const folders: ReturnType<typeof temporaryFolder>[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const folder of folders.splice(0)) folder.remove();
});

function newFolder(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
}

const startService = (environment: Record<string, string>): Promise<ServiceProcess> =>
  startServiceProcess({ BOOTSTRAP_API_KEY: key, ...environment }, (process) => started.push(process));

async function picket(environment: Record<string, string>, ...args: string[]) {
  const command = startPicket(['service', ...args], { PATH: process.env.PATH ?? '', ...environment });
  started.push(command);
  const { code } = await command.ended;
  return { code, output: command.output() };
}

const addSnippet = async (service: ServiceProcess, name: string) => {
  const made = await service.call('POST', '/v1/snippets', { name, script: '// x' });
  expect(made.status).toBe(201);
};
const namesOf = async (service: ServiceProcess): Promise<string[]> =>
  (await service.call('GET', '/v1/snippets')).body.map(({ name }: { name: string }) => name).sort();

describe('a backup of SQLite', () => {
  it('is made while the service runs, and restored over a crashed folder without its write-ahead log', async () => {
    const dataDir = newFolder();
    const environment = { DATA_DIR: dataDir, SECRETS_KEY: secretsKey };
    const first = await startService(environment);
    await addSnippet(first, 'before');
    mkdirSync(join(dataDir, 'artifacts/objects/check'), { recursive: true });
    writeFileSync(join(dataDir, 'artifacts/objects/check/0'), 'bytes');
    const backup = join(newFolder(), 'backup');
    expect(await picket(environment, 'backup', backup)).toMatchObject({ code: 0 });
    expect(statSync(join(backup, 'picket.sqlite')).mode & 0o077).toBe(0);
    expect((await picket(environment, 'backup', backup)).output).toContain('not empty');
    expect((await picket(environment, 'restore', backup)).output).toContain('another service process uses');

    for (let index = 0; index < 30; index += 1) await addSnippet(first, `after ${index}`);
    await first.process.kill('SIGKILL');
    expect(statSync(join(dataDir, 'picket.sqlite-wal')).size).toBeGreaterThan(0);
    const refused = await picket(environment, 'restore', backup);
    expect(refused.code).toBe(2);
    expect(refused.output).toMatch(/picket\.sqlite-wal.*--replace/);
    // The folder as an operator may leave it: only the write-ahead log.
    const lonely = newFolder();
    copyFileSync(join(dataDir, 'picket.sqlite-wal'), join(lonely, 'picket.sqlite-wal'));
    expect((await picket({ ...environment, DATA_DIR: lonely }, 'restore', backup)).code).toBe(2);
    expect((await picket({ DATA_DIR: newFolder() }, 'restore', backup)).output).toContain('SECRETS_KEY');

    expect(await picket(environment, 'restore', backup, '--replace')).toMatchObject({ code: 0 });
    const again = await startService(environment);
    expect(await namesOf(again)).toEqual(['before']);
    expect(readdirSync(dataDir).some((name) => name.startsWith('replaced-'))).toBe(true);
    await again.process.kill('SIGTERM');

    const elsewhere = { ...environment, DATA_DIR: join(newFolder(), 'new') };
    mkdirSync(elsewhere.DATA_DIR);
    expect(await picket(elsewhere, 'restore', backup)).toMatchObject({ code: 0 });
    expect(readFileSync(join(elsewhere.DATA_DIR, 'artifacts/objects/check/0'), 'utf8')).toBe('bytes');
    expect(await namesOf(await startService(elsewhere))).toEqual(['before']);
  }, 120_000);

  it('is refused if it is truncated, changed, or missing', async () => {
    const environment = { DATA_DIR: newFolder() };
    expect((await picket(environment, 'backup', join(newFolder(), 'x'))).output).toContain(
      'there is no database',
    );
    const service = await startService(environment);
    await addSnippet(service, 'one');
    await service.process.kill('SIGTERM');
    const backup = join(newFolder(), 'backup');
    await picket(environment, 'backup', backup);
    const file = join(backup, 'picket.sqlite');
    writeFileSync(file, readFileSync(file).subarray(0, 8192));
    const empty = { DATA_DIR: newFolder() };
    expect((await picket(empty, 'restore', backup)).output).toContain('differs from the backup');
    expect(existsSync(join(empty.DATA_DIR, 'picket.sqlite'))).toBe(false);
  });
});

describe.skipIf(noPostgres !== null)(`a backup of PostgreSQL${noPostgres ?? ''}`, () => {
  it('goes into an empty database, or replaces the tables of one that no service uses', async () => {
    const environment = { DATA_DIR: newFolder(), DATABASE_URL: await emptyDatabase() };
    const first = await startService(environment);
    await addSnippet(first, 'before');
    const backup = join(newFolder(), 'backup');
    expect(await picket(environment, 'backup', backup)).toMatchObject({ code: 0 });
    await addSnippet(first, 'after');
    expect((await picket(environment, 'restore', backup, '--replace')).output).toContain('a service uses');
    await first.process.kill('SIGTERM');
    expect((await picket(environment, 'restore', backup)).output).toContain('not empty');
    // A day that began after the backup.
    const client = new pg.Client({ connectionString: environment.DATABASE_URL });
    await client.connect();
    await client.query('create table results_later partition of results for values from (9e14) to (9.1e14)');
    await client.end();
    expect(await picket(environment, 'restore', backup, '--replace')).toMatchObject({ code: 0 });
    const again = await startService(environment);
    expect(await namesOf(again)).toEqual(['before']);
    await addSnippet(again, 'numbers go on');
    const other = { ...environment, DATABASE_URL: await emptyDatabase() };
    expect(await picket(other, 'restore', backup)).toMatchObject({ code: 0 });
    expect(await namesOf(await startService(other))).toEqual(['before']);
  }, 120_000);
});
