import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';

const key = 'bootstrap-key-of-the-tests';
const noPostgres = whyNoPostgres();
const started: PicketProcess[] = [];
const startService = (environment: Record<string, string>) =>
  startServiceProcess({ BOOTSTRAP_API_KEY: key, ...environment }, (process) => started.push(process));
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

const claimBody = (fields: object = {}) => ({
  agentId: 'agent',
  sessionId: randomUUID(),
  version: '8.0.0',
  platform: 'test',
  checkTypes: ['URL'],
  freeSlots: { probe: 50 },
  waitMs: 20_000,
  ...fields,
});

describe('a service process', () => {
  it('lists every problem of its configuration and exits with 2', async () => {
    const process = startPicket(['service'], {
      PORT: 'eighty',
      DATABASE_URL: 'mysql://x',
      BOOTSTRAP_API_KEY: 'short',
      PUBLIC_URL: 'ftp://x',
      LOG_LEVEL: 'loud',
      DATA_DIR: newFolder(),
    });
    started.push(process);
    expect((await process.ended).code).toBe(2);
    for (const name of ['PORT', 'DATABASE_URL', 'BOOTSTRAP_API_KEY', 'PUBLIC_URL', 'LOG_LEVEL']) {
      expect(process.output()).toContain(`  - ${name}: `);
    }
  });

  it('reports which port is taken and which folder cannot be used', async () => {
    const first = await startService({ DATA_DIR: newFolder() });
    const second = startPicket(['service'], {
      PORT: new URL(first.url).port,
      HOST: '127.0.0.1',
      DATA_DIR: newFolder(),
    });
    started.push(second);
    expect((await second.ended).code).toBe(2);
    expect(second.output()).toContain('PORT');
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    const third = startPicket(['service'], { PORT: '0', DATA_DIR: join(file, 'data') });
    started.push(third);
    expect((await third.ended).code).not.toBe(0);
    expect(third.output()).toMatch(/DATA_DIR|ENOTDIR/);
  });

  it('writes the first key so that only its owner can read it, and never logs it', async () => {
    const dataDir = newFolder();
    const service = await startService({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: '' });
    const file = join(dataDir, 'api-key');
    const written = readFileSync(file, 'utf8').trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await service.call('GET', '/v1/checks', undefined, written)).status).toBe(200);
    expect(service.process.output()).toContain('api-key');
    expect(service.process.output()).not.toContain(written);
    await service.process.kill('SIGTERM');
    const again = await startService({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: key });
    expect(readFileSync(file, 'utf8').trim()).toBe(written);
    const own = await again.call('GET', '/v1/checks', undefined, written);
    expect([own.status, (await again.call('GET', '/v1/checks')).status]).toEqual([200, 200]);
    expect(existsSync(join(dataDir, 'picket.sqlite'))).toBe(true);
  });

  it('lists and deletes keys, and replaces the configured one', async () => {
    const dataDir = newFolder();
    const first = await startService({ DATA_DIR: dataDir });
    await first.process.kill('SIGTERM');
    const replaced = 'bootstrap-key-that-replaces';
    const service = await startService({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: replaced });
    const statusOf = async (credential: string) =>
      (await service.call('GET', '/v1/checks', undefined, credential)).status;
    expect([await statusOf(key), await statusOf(replaced)]).toEqual([401, 200]);

    const picket = async (...args: string[]) => {
      const command = startPicket(['service', ...args], { DATA_DIR: dataDir });
      started.push(command);
      const { code } = await command.ended;
      return { code, output: command.output() };
    };
    const added = JSON.parse((await picket('add-account', 'Another', '--json')).output);
    const { apiKey } = JSON.parse(
      (await picket('add-key', '--account', added.accountId, '--role', 'READ_ONLY', '--name', 'ci', '--json'))
        .output,
    );
    const list = async () =>
      JSON.parse((await picket('list-keys', '--account', added.accountId, '--json')).output);
    const keys: { keyId: string; name: string; role: string; maskedKey: string }[] = await list();
    expect(keys.map(({ name, role }) => [name, role])).toEqual([
      ['first key', 'ADMIN'],
      ['ci', 'READ_ONLY'],
    ]);
    expect(keys[1]?.maskedKey).toBe(`...${apiKey.slice(-4)}`);
    const shown = await picket('list-keys', '--account', added.accountId);
    expect(shown.output).toContain(keys[1]?.keyId);
    expect(shown.output).not.toContain(apiKey);
    expect(await statusOf(apiKey)).toBe(200);
    const deleted = await picket('delete-key', keys[1]?.keyId ?? '', '--json');
    expect([deleted.code, JSON.parse(deleted.output)]).toEqual([0, { deletedKeyId: keys[1]?.keyId }]);
    expect(await statusOf(apiKey)).toBe(401);
    expect(await list()).toHaveLength(1);
    expect((await picket('delete-key', keys[1]?.keyId ?? '')).code).toBe(1);
    expect((await picket('list-keys', '--account', 'nobody')).output).toContain(
      'There is no account nobody.',
    );
  });

  it('keeps acknowledged results when it is killed outright', async () => {
    const dataDir = newFolder();
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const service = await startService({ DATA_DIR: dataDir });
      const writes = Array.from({ length: 30 }, async (_, index) => {
        const made = await service.call('POST', '/v1/checks/url', {
          name: `check ${round}-${index}`,
          request: { url: 'http://x.test' },
        });
        if (made.status === 201) acknowledged.push(made.body.id);
        if (index === 5 + round) service.process.child.kill('SIGKILL');
      });
      await Promise.allSettled(writes);
      await service.process.ended;
    }
    expect(acknowledged.length).toBeGreaterThan(5);
    const service = await startService({ DATA_DIR: dataDir });
    for (const id of acknowledged) expect((await service.call('GET', `/v1/checks/${id}`)).status).toBe(200);
  });

  it('ends when it is signalled, even if its log has no reader', async () => {
    const { process } = await startService({ DATA_DIR: newFolder(), LOG_LEVEL: 'info' });
    process.child.stdout?.destroy();
    process.child.stderr?.destroy();
    expect(await process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('drains on %s: polls are answered, exit code 0', async (signal) => {
    const service = await startService({ DATA_DIR: newFolder() });
    const made = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    const poll = service.call('POST', '/v1/agent/claims', claimBody(), made.body.keys[0].rawKey);
    await until('the poll waits', async () => {
      const { body } = await service.call('GET', `/v1/private-locations/${made.body.id}`);
      return body.agentCount === 1;
    });
    const ended = service.process.kill(signal);
    expect((await poll).body.runs).toEqual([]);
    expect(await ended).toMatchObject({ code: 0 });
  });
});

describe.skipIf(noPostgres !== null)(`services on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });

  it('start together on an empty database, and share polls and runs', async () => {
    const databaseUrl = await server.createDatabase();
    const environment = { DATABASE_URL: databaseUrl, DATA_DIR: newFolder() };
    const [one, two] = await Promise.all([startService(environment), startService(environment)]);
    const made = await one.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    const locationKey = made.body.keys[0].rawKey;
    // Whichever of them schedules, the poll at the other one is woken through the database.
    const polls = [one, two].map((service, index) =>
      service.call(
        'POST',
        '/v1/agent/claims',
        claimBody({ agentId: `agent-${index}`, freeSlots: { probe: 1 }, waitMs: 30_000 }),
        locationKey,
      ),
    );
    await until('both polls wait', async () => {
      const { body } = await one.call('GET', `/v1/private-locations/${made.body.id}`);
      return body.agentCount === 2;
    });
    for (const name of ['a', 'b']) {
      await two.call('POST', '/v1/checks/url', {
        name,
        frequency: 0,
        frequencyOffset: 10,
        privateLocations: ['lab'],
        request: { url: 'http://x.test' },
      });
    }
    const runs = (await Promise.all(polls)).flatMap(({ body }) => body.runs);
    expect(runs).toHaveLength(2);
    expect(new Set(runs.map(({ runId }: { runId: string }) => runId)).size).toBe(2);
    const leaders = [one, two].filter(({ process }) => process.output().includes('became leader'));
    expect(leaders).toHaveLength(1);
    const [leader] = leaders;
    const survivor = leader === one ? two : one;
    await leader?.process.kill('SIGKILL');
    await until('the other one schedules', () => survivor.process.output().includes('became leader'));
    const next = await survivor.call('POST', '/v1/agent/claims', claimBody({ waitMs: 30_000 }), locationKey);
    expect(next.body.runs.length).toBeGreaterThan(0);
  }, 180_000);

  it('continue when the scheduling one is stopped, and when it returns', async () => {
    const environment = { DATABASE_URL: await server.createDatabase(), DATA_DIR: newFolder() };
    const services = [await startService(environment), await startService(environment)];
    const leads = ({ process }: (typeof services)[number]) =>
      process.output().lastIndexOf('became leader') >
      process.output().lastIndexOf('lost leadership to another process');
    const leader = await until('one of them schedules', () => services.find(leads));
    const other = services.find((service) => service !== leader);
    if (!other) throw new Error('there is no other process');
    const made = await other.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    leader.process.child.kill('SIGSTOP');
    await other.call('POST', '/v1/checks/url', {
      name: 'x',
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: ['lab'],
      request: { url: 'http://x.test' },
    });
    await until('the other one schedules', () => leads(other), 40_000);
    const claimed = await other.call(
      'POST',
      '/v1/agent/claims',
      claimBody({ waitMs: 30_000 }),
      made.body.keys[0].rawKey,
    );
    expect(claimed.body.runs.length).toBeGreaterThan(0);
    leader.process.child.kill('SIGCONT');
    await until('the first one knows', () =>
      leader.process.output().includes('lost leadership to another process'),
    );
    expect(leads(other)).toBe(true);
  }, 120_000);

  it('respond with 503 while the database is unavailable, and recover by themselves', async () => {
    const databaseUrl = await server.createDatabase();
    const service = await startService({ DATABASE_URL: databaseUrl, DATA_DIR: newFolder() });
    const made = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    const locationKey = made.body.keys[0].rawKey;
    await service.call('POST', '/v1/checks/url', {
      name: 'x',
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: ['lab'],
      request: { url: 'http://x.test' },
    });
    await server.kill();
    const down = await service.call('GET', '/v1/checks');
    expect(down).toMatchObject({ status: 503, body: { statusCode: 503, error: 'Service Unavailable' } });
    expect((await service.call('GET', '/-/readiness')).status).toBe(503);
    expect((await service.call('GET', '/-/liveness')).status).toBe(200);
    await server.start();
    await until(
      'the API is back',
      async () => (await service.call('GET', '/v1/checks')).status === 200,
      5_000,
    );
    const claimed = await service.call(
      'POST',
      '/v1/agent/claims',
      claimBody({ waitMs: 30_000 }),
      locationKey,
    );
    expect(claimed.body.runs).toHaveLength(1);
    expect(service.process.child.exitCode).toBeNull();
  }, 180_000);
});
