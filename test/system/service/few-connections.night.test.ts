import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createCheck,
  createLocation,
  metricsToken,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';

describe.skipIf(whyNoPostgres() !== null)('on a PostgreSQL with few connections', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({
      settings: { max_connections: '8', max_wal_senders: '0', superuser_reserved_connections: '0' },
    });
  });
  afterAll(() => server?.stop());

  /** Responses to reports, lists and results, 40 of each at once. */
  async function answersOfCrowd(harness: ServiceHarness): Promise<Set<string>> {
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    await agent.claim();
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
    // A claim skips runs that another transaction has locked.
    let runs = await agent.claim();
    while (runs.length === 0) runs = await agent.claim();
    await agent.report(runs.map((run) => reportOf(run)));
    const paths = ['/v1/reporting', `/v1/check-results/${check.id}`, '/v1/checks', '/-/readiness'];
    const ask = async (path: string) => {
      const { status, body } = await harness.call('GET', path);
      return status === 200 ? '200' : `${path} ${status} ${body.message}`;
    };
    return new Set(await Promise.all(paths.flatMap((path) => Array.from({ length: 40 }, () => ask(path)))));
  }

  async function takeAllConnections(databaseUrl: string): Promise<pg.Client[]> {
    const others: pg.Client[] = [];
    for (let isRoom = true; isRoom; ) {
      const client = new pg.Client({ connectionString: databaseUrl });
      client.on('error', () => undefined);
      isRoom = await client.connect().then(
        () => others.push(client) > 0,
        () => false,
      );
    }
    expect(others.length).toBeGreaterThan(0);
    return others;
  }

  async function availableOf(harness: ServiceHarness, what: 'analytics' | 'store') {
    const { body } = await harness.call('GET', '/metrics', undefined, { key: metricsToken });
    return new RegExp(`^picket_${what}_available (\\d)$`, 'm').exec(body)?.[1];
  }

  it('answers reports, and leaves room for analytics in the pool', async () => {
    const harness = await openHarness({ databaseUrl: await server.createDatabase() });
    expect(await answersOfCrowd(harness)).toEqual(new Set(['200']));
    await harness.close();
  });

  it("waits for its own connections while others use all of the server's", async () => {
    const databaseUrl = await server.createDatabase();
    const harness = await openHarness({ databaseUrl });
    await createCheck(harness);
    expect((await harness.call('GET', '/v1/reporting')).status).toBe(200);
    const others = await takeAllConnections(databaseUrl);
    expect(await answersOfCrowd(harness)).toEqual(new Set(['200']));
    await Promise.all(others.map((client) => client.end()));
    await harness.close();
  });

  it('shows everywhere that reports have no connection while everything else works, and when they have one again', async () => {
    const databaseUrl = await server.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    const admin = new pg.Client({ connectionString: databaseUrl });
    await admin.connect();
    await admin.query(`create role plain login; alter database ${name} owner to plain`);
    const harness = await openHarness({ databaseUrl: databaseUrl.replace('//picket@', '//plain@') });
    const location = await createLocation(harness, 'lab');
    await createCheck(harness, { privateLocations: ['lab'] });
    // Open connections stay, but no new ones are allowed.
    await admin.query(`alter database ${name} connection limit 0`);
    const ask = async (path: string) => (await harness.call('GET', path)).body;
    const url = await harness.app.listen({ host: '127.0.0.1', port: 0 });
    const examine = async () => {
      const answer = await fetch(`${url}/v1/agent/examinations?agentVersion=8.0.0`, {
        method: 'POST',
        headers: { authorization: `Bearer ${location.key}`, 'content-type': 'application/octet-stream' },
      });
      return ((await answer.json()) as { analyticsProblem: unknown }).analyticsProblem;
    };
    const metric = async () => availableOf(harness, 'analytics');
    const why = expect.stringMatching(/no connection left.*max_connections.*DATABASE_POOL_SIZE/);
    expect(await ask('/-/readiness')).toEqual({ status: 'ready' });
    expect(await ask('/v1/reporting')).toMatchObject({ statusCode: 503, message: why });
    expect(await ask('/-/readiness')).toEqual({ status: 'ready', problems: { analytics: why } });
    expect((await harness.call('GET', '/v1/checks')).status).toBe(200);
    expect([await examine(), await metric()]).toEqual([why, '0']);
    await admin.query(`alter database ${name} connection limit -1`);
    // It reconnects by itself, without a request.
    await until(
      'readiness says nothing more',
      async () => (await ask('/-/readiness')).problems === undefined,
    );
    expect([await examine(), await metric()]).toEqual([null, '1']);
    await harness.close();
    await admin.end();
  });

  it('has the metrics of the process while the database does not respond, and those of the database once it does', async () => {
    const databaseUrl = await server.createDatabase();
    const harness = await openHarness({ databaseUrl });
    await createLocation(harness, 'lab');
    const scrape = async (key = metricsToken) => harness.call('GET', '/metrics', undefined, { key });
    const ofDatabase = ['location_agents', 'schedule_lag_seconds', 'custom_domains', 'monitoring_gaps'];
    const ofProcess = [
      'analytics_available',
      'logins_total',
      'queue_waiting',
      'traces_total',
      'live_refusals_total',
    ];
    const namesIn = (text: string, names: readonly string[]) =>
      names.filter((name) => text.includes(`# TYPE picket_${name} `));
    const before = await scrape();
    expect(before.body).toMatch(/^picket_store_available 1$/m);
    expect(namesIn(before.body, [...ofDatabase, ...ofProcess])).toEqual([...ofDatabase, ...ofProcess]);
    // A table that another client has locked: the database is available, but does not respond.
    const other = new pg.Client({ connectionString: databaseUrl });
    // The server ends it below.
    other.on('error', () => undefined);
    await other.connect();
    await other.query('begin; lock table private_locations in access exclusive mode');
    const during = await Promise.all([scrape(), scrape()]);
    for (const { status, body } of [...during, await scrape()]) {
      expect(status).toBe(200);
      expect(body).toMatch(/^picket_store_available 0$/m);
      expect(namesIn(body, [...ofDatabase, ...ofProcess])).toEqual(ofProcess);
    }
    await other.query('rollback');
    await until('the database gives its metrics', async () => (await availableOf(harness, 'store')) === '1');
    const after = await scrape();
    expect(namesIn(after.body, ofDatabase)).toEqual(ofDatabase);
    // Without connections no data is available, and account keys cannot be looked up.
    await server.kill();
    expect(await availableOf(harness, 'store')).toBe('0');
    expect((await scrape(harness.key)).status).toBe(503);
    await server.start();
    await until('the database is back', async () => (await availableOf(harness, 'store')) === '1');
    await harness.close();
  });

  it('refuses to start if a user gets fewer than a process needs, and names the setting to raise', async () => {
    const databaseUrl = await server.createDatabase();
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query('create role few superuser login connection limit 3');
    await client.end();
    const opened = openHarness({ databaseUrl: databaseUrl.replace('//picket@', '//few@') });
    await expect(opened).rejects.toThrow(/gives this user 3 connections at most.*needs 4.*max_connections/);
  });
});
