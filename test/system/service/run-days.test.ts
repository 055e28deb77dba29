import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { nameBeforeRunDays } from '../../../src/platform/store/engine/queries.ts';
import { DayKeeper, dividedRuns } from '../../../src/service/retention/day-keeper.ts';
import { Retention } from '../../../src/service/retention/retention.ts';
import type { RunRow } from '../../../src/service/runs/tables.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';
import { ledgerRow, type SlotSample } from '../../integration/conformance/store-suites/coverage.ts';

const noPostgres = whyNoPostgres();
const dayMs = 86_400_000;
const logger = createLogger('test', 'silent');

describe.skipIf(noPostgres !== null)(`runs by day${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let databaseUrl: string;
  let clock: ManualClock;
  let harness: ServiceHarness;
  let client: pg.Client;
  let midnight: number;
  let keeper: DayKeeper;

  beforeEach(async () => {
    databaseUrl = await emptyDatabase();
    midnight = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
    clock = new ManualClock(midnight - 5_000);
    harness = await openHarness({ databaseUrl, clock });
    client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    keeper = new DayKeeper({ ...dividedRuns, store: harness.store, clock, logger, keptMs: 30 * dayMs });
  });
  afterEach(async () => {
    await client.end();
    await harness.close();
  });

  const placesOf = async (): Promise<Record<string, number>> => {
    const { rows } = await client.query(
      'select tableoid::regclass::text as place, count(*)::integer as count from runs group by 1 order by 1',
    );
    return Object.fromEntries(rows.map(({ place, count }) => [place, count]));
  };
  const nameOf = (at: number) => `runs_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '_')}`;
  const runOf = (checkId: string, at: number): RunRow => {
    const one: SlotSample = { kind: 'passed', minute: 0, location: 'lab', slotCount: 1 };
    return ledgerRow({ checkId, accountId: harness.accountId, start: at, one });
  };

  it('moves a run from the pending ones to the day of its end, and finds it there', async () => {
    const agent = new TestAgent(harness, await createLocation(harness, 'lab'));
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    harness.startScheduler();
    const run = await until('a lease', async () => {
      clock.advance(1_000);
      return (await agent.claim())[0];
    });
    expect(await placesOf()).toEqual({ runs_live: 1 });
    clock.set(Math.max(midnight, clock.wallMs()) + 10);
    expect(await agent.report([reportOf(run)])).toEqual(['accepted']);
    expect(await placesOf()).toMatchObject({ [nameOf(midnight)]: 1 });
    expect(await agent.report([reportOf(run)])).toEqual(['duplicate']);
    const slots = await harness.call('GET', `/v1/checks/${check.id}/slots`);
    expect(slots.body.entries.at(-1)).toMatchObject({ state: 'FINAL', id: run.runId });
  });

  it('has one run for a slot, wherever it is stored', async () => {
    const check = await createCheck(harness, { activated: false });
    const { runs } = harness.store;
    const ended = runOf(check.id, midnight + 5);
    const outside = runOf(check.id, midnight + 400 * dayMs);
    const live: RunRow = { ...runOf(check.id, midnight - 7), state: 'queued', ended: null, ended_day: 0 };
    expect(await runs.insert([ended, outside, live])).toHaveLength(3);
    expect(await placesOf()).toEqual({ [nameOf(midnight)]: 1, runs_live: 1, runs_outside: 1 });
    const again = [ended, outside, live].map(
      (run): RunRow => ({
        ...run,
        id: crypto.randomUUID(),
        state: 'queued',
        ended: null,
        ended_day: 0,
      }),
    );
    const free = { ...runOf(check.id, midnight + 6) };
    expect((await runs.insert([...again, free])).map(({ id }) => id)).toEqual([free.id]);
    expect(await runs.insert([...again, free])).toEqual([]);
  });

  it('ends each run once while its lease is renewed, swept and reported at the same time', async () => {
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    const checks: string[] = [];
    for (let index = 0; index < 20; index += 1)
      checks.push((await createCheck(harness, { privateLocations: ['lab'] })).id);
    harness.startScheduler();
    const leased: Awaited<ReturnType<TestAgent['claim']>>[number][] = [];
    await until('all leases', async () => {
      clock.advance(1_000);
      leased.push(...(await agent.claim()));
      return leased.length >= checks.length;
    });
    const statuses = await Promise.all([
      ...leased.map((run) => agent.report([reportOf(run)])),
      ...Array.from({ length: 10 }, () => agent.renew(leased)),
      ...leased.map((run) => agent.report([reportOf(run)])),
    ]);
    const said = statuses.flat().filter((status) => typeof status === 'string');
    expect(said.filter((status) => status === 'accepted')).toHaveLength(leased.length);
    expect(said.filter((status) => status === 'duplicate')).toHaveLength(leased.length);
    const { rows } = await client.query(
      `select count(*)::integer as runs, count(distinct (check_id, slot_at, slot_location))::integer as slots
        from runs where state = 'final'`,
    );
    expect(rows).toEqual([{ runs: leased.length, slots: leased.length }]);
  });

  it('drops expired days, and no pending runs', async () => {
    const folder = temporaryFolder();
    const check = await createCheck(harness, { activated: false });
    const old = runOf(check.id, midnight - 10);
    const live: RunRow = { ...runOf(check.id, midnight - 9), state: 'queued', ended: null, ended_day: 0 };
    await harness.store.runs.insert([old, live, runOf(check.id, midnight + dayMs)]);
    clock.set(midnight + 31 * dayMs);
    await harness.store.retired.setTrustedUntil(clock.wallMs(), 0);
    const retention = new Retention({
      ...{ store: harness.store, artifactStore: await DirectoryStore.open(folder.path), clock, logger },
      retention: { resultsMs: 30 * dayMs, artifactsMs: dayMs, analyticsMs: 60 * dayMs, auditMs: dayMs },
    });
    await until('the day is gone', async () => {
      await retention.turn();
      return (await placesOf())[nameOf(midnight - 10)] === undefined;
    });
    expect(await placesOf()).toEqual({ [nameOf(midnight + dayMs)]: 1, runs_live: 1 });
    folder.remove();
  });

  it('converts no store while a service process of an older version uses it', async () => {
    // As in a store of the previous version: one table with a run in it.
    await client.query(`create table plain (like runs including storage); drop table runs;
      alter table plain rename to runs;
      create trigger runs_before_days before insert or update on runs
        for each row execute function keep_before_days()`);
    const check = await createCheck(harness, { activated: false });
    const waiting: RunRow = { ...runOf(check.id, midnight + 1), state: 'queued', ended: null, ended_day: 0 };
    await harness.store.runs.insert([runOf(check.id, midnight), waiting]);
    const older = new pg.Client({ connectionString: databaseUrl, application_name: nameBeforeRunDays });
    await older.connect();
    await keeper.turn();
    expect(await placesOf()).toEqual({ runs: 2 });
    await older.end();
    await until('it is converted', async () => {
      await keeper.turn();
      return harness.store.runDays.isDivided();
    });
    expect(await placesOf()).toEqual({ runs_before: 2 });
    // A pending run leaves the old table when it ends.
    await harness.store.runs.miss([waiting.id], 'expired', midnight + 2);
    expect(await placesOf()).toMatchObject({ runs_before: 1 });
    expect(await harness.store.runs.insert([runOf(check.id, midnight)])).toEqual([]);
    // Once its last run is removed the table is dropped, and pending runs need only one table.
    await client.query('delete from runs_before');
    for (const part of await harness.store.runDays.due(0))
      await harness.store.transaction(({ runDays }) => runDays.drop(part));
    const { rows } = await client.query('explain select from runs where ended_day <= 0');
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/^Seq Scan on runs_live/);
  });
});
