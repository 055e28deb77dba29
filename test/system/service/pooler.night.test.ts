import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PicketProcess, startAgentProcess, startPicket } from '../../helpers/picket-process.ts';
import { type Pooler, startPooler, whyNoPooler } from '../../helpers/service/pgbouncer.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';
import { startHoldingTarget } from '../../helpers/targets/holding-target.ts';

const key = 'bootstrap-key-of-the-tests';
const missing = whyNoPostgres() ?? whyNoPooler();

describe.skipIf(missing !== null)(`a pooler in transaction mode${missing ? `: ${missing}` : ''}`, () => {
  let databaseUrl: string;
  let client: pg.Client;
  let pooler: Pooler;
  let processes: PicketProcess[];
  let folder: ReturnType<typeof temporaryFolder>;

  beforeEach(async () => {
    databaseUrl = await emptyDatabase();
    client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    processes = [];
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await Promise.all(processes.map((each) => each.kill('SIGKILL')));
    await pooler?.[Symbol.asyncDispose]();
    await client.end();
    folder.remove();
  });

  const startService = (environment: Record<string, string>) =>
    startServiceProcess({ BOOTSTRAP_API_KEY: key, DATA_DIR: folder.path, ...environment }, (process) =>
      processes.push(process),
    );

  it('serves two service processes on three connections, even when one of them is killed', {
    timeout: 180_000,
  }, async () => {
    pooler = await startPooler({ databaseUrl, serverConnections: 3 });
    const environment = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: databaseUrl };
    const [one, two] = await Promise.all([startService(environment), startService(environment)]);
    await using target = await startHoldingTarget();
    target.release();
    const made = await one.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    await using _agent = await startAgentProcess({ serviceUrl: two.url, key: made.body.keys[0].rawKey });
    for (let index = 0; index < 12; index += 1) {
      const check = await one.call('POST', '/v1/checks/url', {
        name: `check ${index}`,
        frequency: 0,
        frequencyOffset: 10,
        privateLocations: ['lab'],
        request: { url: `${target.url}/${index}` },
      });
      expect(check.status).toBe(201);
    }
    const finals = async (after: number) => {
      const { rows } = await client.query<{ n: string }>(
        `select count(distinct check_id) as n from runs where state = 'final' and slot_at > ${after}`,
      );
      return Number(rows[0]?.n);
    };
    await until('each check has a result', async () => (await finals(0)) === 12);
    await one.process.kill('SIGKILL');
    const killedAt = Date.now();
    await until('each check has one of the other process', async () => (await finals(killedAt)) === 12);
    const { rows } = await client.query(`select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name like 'picket service%' and pid <> pg_backend_pid()`);
    // Three of the pooler, one of the remaining process; those of its pool are not at the server.
    expect(rows[0].n).toBeLessThanOrEqual(4);
    expect(await pooler.transactions()).toBeGreaterThan(50);

    const backup = join(folder.path, 'backup');
    const backedUp = startPicket(['service', 'backup', backup], {
      ...environment,
      DATA_DIR: folder.path,
    });
    processes.push(backedUp);
    expect(await backedUp.ended, backedUp.output()).toMatchObject({ code: 0 });
    expect(existsSync(join(backup, 'postgres.dump'))).toBe(true);
  });

  it.each([
    ['as it is', {}],
    [
      'that takes any parameter',
      { ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout' },
    ],
  ])(
    'without a direct connection is refused, %s',
    async (_name, settings) => {
      pooler = await startPooler({ databaseUrl, serverConnections: 3, settings });
      const process = startPicket(['service'], {
        PORT: '0',
        HOST: '127.0.0.1',
        DATA_DIR: folder.path,
        DATABASE_URL: pooler.url,
      });
      processes.push(process);
      expect(await process.ended, process.output()).toMatchObject({ code: 2 });
      expect(process.output()).toContain('DATABASE_DIRECT_URL');
      expect(process.output()).toContain('pooler');
    },
    60_000,
  );
});
