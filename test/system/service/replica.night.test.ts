import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, it } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { reportOf, temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { startStandby } from '../../helpers/service/standby.ts';

const noPostgres = whyNoPostgres();

it.skipIf(noPostgres !== null)(
  'a replica is read while it keeps up, and bypassed while it is behind or unavailable',
  { timeout: 240_000 },
  async () => {
    const server = await startPostgres();
    const folder = temporaryFolder();
    const processes: PicketProcess[] = [];
    try {
      const databaseUrl = await server.createDatabase();
      await using standby = await startStandby(databaseUrl);
      const service = await startServiceProcess(
        {
          BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests',
          METRICS_TOKEN: 'metrics-token-of-the-tests',
          // Tests poll until something happens.
          RATE_LIMIT_PER_MINUTE: '0',
          DATABASE_URL: databaseUrl,
          DATABASE_REPLICA_URL: standby.url,
          DATA_DIR: folder.path,
        },
        (process) => processes.push(process),
      );
      const made = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
      const locationKey = made.body.keys[0].rawKey;
      const check = await service.call('POST', '/v1/checks/url', {
        name: 'a check',
        frequency: 0,
        frequencyOffset: 10,
        privateLocations: ['lab'],
        request: { url: 'http://x.test' },
      });
      const agent = { agentId: 'agent', sessionId: randomUUID() };
      const measure = async () => {
        const claimed = await until('there is a run', async () => {
          const { body } = await service.call(
            'POST',
            '/v1/agent/claims',
            {
              ...agent,
              version: '8.0.0',
              platform: 'test',
              checkTypes: ['URL'],
              freeSlots: { probe: 1 },
              waitMs: 20_000,
            },
            locationKey,
          );
          return body.runs.length > 0 && (body.runs as LeasedRun[]);
        });
        const results = claimed.map((run) => reportOf(run));
        const answer = await service.call('POST', '/v1/agent/results', { ...agent, results }, locationKey);
        expect(answer.body.items.map(({ status }: { status: string }) => status)).toEqual(['accepted']);
      };
      const listed = async () => {
        const { status, body } = await service.call('GET', `/v1/check-results/${check.body.id}?limit=100`);
        expect(status).toBe(200);
        return body.length as number;
      };
      const analysed = async () => {
        const { status, body } = await service.call(
          'GET',
          `/v1/analytics/url-monitors/${check.body.id}?metrics=availability&quickRange=last24Hours`,
        );
        expect(status, JSON.stringify(body)).toBe(200);
      };
      const isUsed = async () => {
        const response = await fetch(`${service.url}/metrics`, {
          headers: { authorization: 'Bearer metrics-token-of-the-tests' },
        });
        return /^picket_database_replica_used (\d)$/m.exec(await response.text())?.[1];
      };
      const onStandby = async (text: string) => {
        const client = new pg.Client({ connectionString: standby.url });
        await client.connect();
        return (await client.query(text).finally(() => client.end())).rows;
      };

      await measure();
      await until('the first result is listed', async () => (await listed()) === 1);
      await until('the replica is used', async () => (await listed()) === 1 && (await isUsed()) === '1');
      await analysed();
      const [readers] = await onStandby(`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name like 'picket service%'`);
      // Lists of results by one, analytics by another.
      expect(readers.n).toBeGreaterThanOrEqual(2);

      // The replica falls behind: missing data is read from the primary.
      await onStandby('select pg_wal_replay_pause()');
      await measure();
      await until('the second result is listed', async () => (await listed()) === 2, 60_000);
      expect(await isUsed()).toBe('0');
      expect(service.process.output()).toContain('the replica is not used at present');
      await onStandby('select pg_wal_replay_resume()');
      await until(
        'the replica is used again',
        async () => (await listed()) === 2 && (await isUsed()) === '1',
      );

      await standby.kill();
      // A running statement may fail there; the next one goes elsewhere.
      await until('the list is there without the replica', async () => {
        const { status } = await service.call('GET', `/v1/check-results/${check.body.id}`);
        return status === 200 && (await isUsed()) === '0';
      });
      expect(await listed()).toBe(2);
      await until('analytics, too', () =>
        analysed().then(
          () => true,
          () => false,
        ),
      );
      await standby.start();
      await until('the replica is used once it is back', async () => {
        return (await listed()) === 2 && (await isUsed()) === '1';
      });
    } finally {
      await Promise.all(processes.map((each) => each.kill('SIGKILL')));
      await server.stop();
      folder.remove();
    }
  },
);
