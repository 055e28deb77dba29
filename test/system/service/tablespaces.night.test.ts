import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { dumpPostgres, restorePostgres } from '../../../src/service/backup/postgres-tools.ts';
import {
  findPostgres,
  startPostgres,
  unprivilegedIds,
  whyNoPostgres,
} from '../../helpers/service/postgres.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  TestAgent,
  temporaryFolder,
} from '../../helpers/service/service.ts';

const noPostgres = whyNoPostgres();
const document = join(import.meta.dirname, '../../../docs/how-to/save-disk-space.md');

it.skipIf(noPostgres !== null)(
  'results move to another tablespace as save-disk-space.md says, and the service continues',
  async () => {
    const server = await startPostgres();
    const other = await startPostgres();
    const backups = temporaryFolder();
    const disk = temporaryFolder();
    const ids = unprivilegedIds();
    if (ids) chownSync(disk.path, ids.uid, ids.gid);
    const databaseUrl = await server.createDatabase();
    const harness = await openHarness({ databaseUrl });
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const agent = new TestAgent(harness, await createLocation(harness, 'lab'));
      await agent.claim();
      const check = await createCheck(harness, { privateLocations: ['lab'] });
      const measure = async () => {
        await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
        const runs = await agent.claim();
        expect(await agent.report(runs.map((run) => reportOf(run)))).toEqual(['accepted']);
      };
      const listed = async () => (await harness.call('GET', `/v1/check-results/${check.id}`)).body.length;
      await measure();

      const [, block = ''] = /```sql\n(create tablespace[^`]*)```/.exec(readFileSync(document, 'utf8')) ?? [];
      const psql = spawnSync(
        join(findPostgres() ?? '', 'psql'),
        ['-X', '-v', 'ON_ERROR_STOP=1', '-d', databaseUrl],
        { input: block.replace('/mnt/large/picket', disk.path), encoding: 'utf8' },
      );
      expect(psql.status, psql.stderr).toBe(0);

      expect(await listed()).toBe(1);
      await measure();
      expect(await listed()).toBe(2);
      // The table, its partitions if any, and all their indexes.
      const { rows } = await client.query<{ name: string; space: string | null }>(`
        with parts as (select 'results'::regclass as part union select relid from pg_partition_tree('results')),
          moved as (select part from parts union select indexrelid from pg_index join parts on indrelid = part)
        select relname as name, spcname as space
        from moved join pg_class on pg_class.oid = part left join pg_tablespace on pg_tablespace.oid = reltablespace`);
      expect(rows.length).toBeGreaterThan(3);
      expect(rows.filter(({ space }) => space !== 'picket_results')).toEqual([]);

      // A server without such a tablespace can restore a backup, too.
      const dump = join(backups.path, 'postgres.dump');
      await dumpPostgres({ url: databaseUrl, environment: process.env }, dump);
      const restoredUrl = await other.createDatabase();
      await restorePostgres({ url: restoredUrl, environment: process.env }, dump, false);
      const restored = new pg.Client({ connectionString: restoredUrl });
      await restored.connect();
      const { rows: kept } = await restored
        .query('select count(*)::int as results from results')
        .finally(() => restored.end());
      expect(kept).toEqual([{ results: 2 }]);
    } finally {
      await client.end();
      await harness.close();
      await server.stop();
      await other.stop();
      disk.remove();
      backups.remove();
    }
  },
);
