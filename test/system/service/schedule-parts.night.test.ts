import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { allScheduleParts } from '../../../src/platform/store/engine/schedule-parts.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { quietLogger, temporaryFolder, until } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const key = 'bootstrap-key-of-the-tests';
const metricsToken = 'metrics-token-of-the-tests';

describe.skipIf(noPostgres !== null)(
  `the schedule on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`,
  () => {
    let databaseUrl: string;
    let client: pg.Client;
    let stores: Store[];
    let processes: PicketProcess[];
    let folder: ReturnType<typeof temporaryFolder>;

    beforeEach(async () => {
      databaseUrl = await emptyDatabase();
      client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      stores = [];
      processes = [];
      folder = temporaryFolder();
    });
    afterEach(async () => {
      for (const store of stores) await store.close();
      await Promise.all(processes.map((each) => each.kill('SIGKILL')));
      await client.end();
      folder.remove();
    });

    async function open(count: number): Promise<Store[]> {
      for (let index = 0; index < count; index += 1) {
        stores.push(await openStore({ databaseUrl, path: '', logger: quietLogger }));
      }
      return stores;
    }

    const partsOf = async (store: Store) =>
      (await store.scheduleTransaction(async (_, parts) => parts)) ?? [];

    async function untilShared(shares: readonly number[]): Promise<(readonly number[])[]> {
      return await until(
        `shares of ${shares}`,
        async () => {
          const parts = await Promise.all(stores.map(partsOf));
          return parts.every((held, index) => held.length === shares[index]) && parts;
        },
        30_000,
      );
    }

    const silent = `update leaderships set held_until = clock_timestamp() - interval '1 second'`;

    it('belongs to one process alone, then to several in equal shares, never to two at once', async () => {
      const [one] = (await open(1)) as [Store];
      expect(await one.unheldScheduleParts()).toBe(allScheduleParts.length);
      expect(await partsOf(one)).toEqual(allScheduleParts.toSorted((a, b) => `${a}`.localeCompare(`${b}`)));
      expect(await one.unheldScheduleParts()).toBe(0);
      await open(2);
      const shared = await untilShared([4, 4, 4]);
      expect(new Set(shared.flat()).size).toBe(allScheduleParts.length);
    });

    it('is not given to processes that do not schedule', async () => {
      const [one, two] = (await open(2)) as [Store, Store];
      await partsOf(one);
      expect(await two.checks.nextSlotAt(allScheduleParts)).toBeNull();
      // After two renewals the other one would have been counted.
      const renewals = async () =>
        (await client.query(`select held_until::text as at from leaderships where name = 'part 0'`)).rows[0]
          .at;
      for (let seen = 0; seen < 2; seen += 1) {
        const before = await renewals();
        await until('it is renewed', async () => (await renewals()) !== before, 20_000);
      }
      expect(await partsOf(one)).toHaveLength(12);
    });

    it('moves to the others when one leaves or ends', async () => {
      const [, two, three] = (await open(3)) as [Store, Store, Store];
      await untilShared([4, 4, 4]);
      await two.leaveSchedule();
      await three.close();
      stores = stores.filter((store) => store !== three);
      await until('one has it all', async () => (await partsOf(stores[0] as Store)).length === 12, 30_000);
    });

    it('is fenced: a process that was silent for too long owns nothing in a transaction', async () => {
      const [one] = (await open(1)) as [Store];
      expect(await partsOf(one)).toHaveLength(12);
      // As if the process had been stopped: others took its parts, and it does not know.
      await client.query(`update leaderships set holder = 'another', backend_pid = pg_backend_pid(),
      held_until = clock_timestamp() + interval '1 hour' where name like 'part %'`);
      let isDone = false;
      const written = await one.scheduleTransaction(async () => {
        isDone = true;
      });
      expect([written, isDone]).toEqual([undefined, false]);
      expect(await one.unheldScheduleParts()).toBe(0);
      await client.query(`${silent} where name like 'part %'`);
      await untilShared([12]);
    });

    it('stays with a process that is in the middle of a transaction', async () => {
      const [one, two] = (await open(2)) as [Store, Store];
      await partsOf(one);
      const [entered, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const transaction = one.scheduleTransaction(async (_, parts) => {
        entered.resolve();
        await finish.promise;
        return parts.length;
      });
      await entered.promise;
      await client.query(silent);
      expect(await partsOf(two)).toEqual([]);
      finish.resolve();
      expect(await transaction).toBe(12);
    });

    it('has each slot once and skips none when one of two processes is killed', {
      timeout: 180_000,
    }, async () => {
      const start = () =>
        startServiceProcess(
          {
            BOOTSTRAP_API_KEY: key,
            METRICS_TOKEN: metricsToken,
            DATABASE_URL: databaseUrl,
            DATA_DIR: folder.path,
          },
          (process) => processes.push(process),
        );
      const services = (await Promise.all([start(), start()])) as [ServiceProcess, ServiceProcess];
      const shareOf = ({ process }: ServiceProcess) =>
        Number([...process.output().matchAll(/"parts":(\d+)/g)].at(-1)?.[1] ?? 0);
      await until('each has half', () => services.every((each) => shareOf(each) === 6), 30_000);
      const [kept, killed] = services;
      await kept.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
      const checks = 24;
      for (let index = 0; index < checks; index += 1) {
        const made = await kept.call('POST', '/v1/checks/url', {
          name: `check ${index}`,
          frequency: 0,
          frequencyOffset: 10,
          privateLocations: ['lab'],
          request: { url: 'http://x.test' },
        });
        expect(made.status).toBe(201);
      }
      const newest = async () => {
        const { rows } = await client.query<{ n: string; at: string }>(
          `select count(*) as n, min(at) as at from (select max(slot_at) as at from runs group by check_id) as each`,
        );
        return Number(rows[0]?.n) === checks ? Number(rows[0]?.at) : 0;
      };
      await until('all had a slot', async () => (await newest()) > 0, 60_000);
      await killed.process.kill('SIGKILL');
      const killedAt = Date.now();
      await until('all had two slots more', async () => (await newest()) > killedAt + 20_000, 60_000);
      expect(shareOf(kept)).toBe(12);

      const { rows } = await client.query<{ check_id: string; slot_at: string; slot_count: number }>(
        'select check_id, slot_at, slot_count from runs order by check_id, slot_at',
      );
      for (const runs of Map.groupBy(rows, (row) => row.check_id).values()) {
        const slots = runs.flatMap((run) =>
          Array.from({ length: run.slot_count }, (_none, index) => Number(run.slot_at) + index * 10_000),
        );
        expect(slots).toEqual(slots.map((_slot, index) => (slots[0] ?? 0) + index * 10_000));
      }
      const metrics = await fetch(`${kept.url}/metrics`, {
        headers: { authorization: `Bearer ${metricsToken}` },
      });
      const text = await metrics.text();
      expect(text).toMatch(/^picket_schedule_parts_unheld 0$/m);
      expect(text).toMatch(/^picket_schedule_lag_seconds \d/m);
    });
  },
);
