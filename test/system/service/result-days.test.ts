import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { DayKeeper, dividedResults } from '../../../src/service/retention/day-keeper.ts';
import { Retention } from '../../../src/service/retention/retention.ts';
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
import { resultRow } from '../../integration/conformance/store-suites/result-samples.ts';

const noPostgres = whyNoPostgres();
const dayMs = 86_400_000;
const logger = createLogger('test', 'silent');

describe.skipIf(noPostgres !== null)(`results by day${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let clock: ManualClock;
  let harness: ServiceHarness;
  let client: pg.Client;
  let midnight: number;
  let keeper: DayKeeper;

  beforeEach(async () => {
    const databaseUrl = await emptyDatabase();
    midnight = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
    clock = new ManualClock(midnight - 5_000);
    harness = await openHarness({ databaseUrl, clock });
    client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    keeper = new DayKeeper({ ...dividedResults, store: harness.store, clock, logger, keptMs: 30 * dayMs });
  });
  afterEach(async () => {
    await client.end();
    await harness.close();
  });

  const placesOf = async (): Promise<Record<string, number>> => {
    const { rows } = await client.query(
      'select tableoid::regclass::text as place, count(*)::integer as count from results group by 1 order by 1',
    );
    return Object.fromEntries(rows.map(({ place, count }) => [place, count]));
  };
  const names = async () => (await harness.store.resultDays.parts()).map(({ name }) => name);
  const nameOf = (at: number) => `results_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '_')}`;
  const insert = async (checkId: string, ...instants: number[]) =>
    harness.store.results.insert(instants.map((at) => resultRow(checkId, harness.accountId, at, {})));

  it('one run has one final result, however often and by any agent, even over midnight', async () => {
    const location = await createLocation(harness, 'lab');
    const [one, other] = [new TestAgent(harness, location), new TestAgent(harness, location, 'agent-2')];
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    harness.startScheduler();
    const first = await until('a lease', async () => {
      clock.advance(1_000);
      return (await one.claim())[0];
    });
    clock.set(midnight - 10);
    // The lease is released, and another agent has the run when the day ends.
    await one.release([first]);
    const [second] = await other.claim();
    if (!second) throw new Error('no second lease');
    expect(second.runId).toBe(first.runId);
    clock.set(midnight + 10);
    const [late, mine] = await Promise.all([one.report([reportOf(first)]), other.report([reportOf(second)])]);
    expect([late, mine]).toEqual([['stale'], ['accepted']]);
    const again = await Promise.all([
      ...Array.from({ length: 5 }, () => other.report([reportOf(second)])),
      one.report([reportOf(first)]),
    ]);
    expect(again.flat().every((status) => status === 'duplicate' || status === 'stale')).toBe(true);
    const { rows } = await client.query(
      `select run_id, count(*)::integer as finals from results where result_type = 'FINAL' group by 1`,
    );
    expect(rows).toEqual([{ run_id: first.runId, finals: 1 }]);
    expect(await placesOf()).toEqual({ [nameOf(midnight)]: 1 });
    const slots = await harness.call('GET', `/v1/checks/${check.id}/slots`);
    expect(slots.status).toBe(200);
  });

  it('has partitions ahead, accepts results of a clock that jumped, and moves them to their day later', async () => {
    const check = await createCheck(harness, { activated: false });
    expect(await names()).toEqual(
      [0, 1, 2, 3].map((day) => nameOf(midnight - dayMs + day * dayMs)).concat('results_outside'),
    );
    const far = midnight + 400 * dayMs;
    await insert(check.id, far + 5, far + 6, midnight);
    expect(await placesOf()).toEqual({ [nameOf(midnight)]: 1, results_outside: 2 });
    clock.set(far);
    await keeper.turn();
    expect(await placesOf()).toEqual({ [nameOf(midnight)]: 1, [nameOf(far)]: 2 });
    expect(harness.store.resultDays.daysAhead(await harness.store.resultDays.parts(), far)).toBe(3);
  });

  it('does not wait for locks on the results, and retries', async () => {
    clock.set(midnight + 9 * dayMs);
    await client.query('begin; lock table results_outside in access share mode');
    await keeper.turn();
    expect(await names()).not.toContain(nameOf(clock.wallMs()));
    await client.query('commit');
    await keeper.turn();
    expect(await names()).toContain(nameOf(clock.wallMs()));
  });

  it('finds the outcome of a slot in the days of its run, and reads no others', async () => {
    const agent = new TestAgent(harness, await createLocation(harness, 'lab'));
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    harness.startScheduler();
    const run = await until('a lease', async () => {
      clock.advance(1_000);
      return (await agent.claim())[0];
    });
    expect(await agent.report([reportOf(run)])).toEqual(['accepted']);
    // A statement on another day would wait for the lock.
    const others = ['results_outside', nameOf(midnight + dayMs), nameOf(midnight + 2 * dayMs)];
    await client.query(`begin; lock table ${others} in access exclusive mode`);
    const span = { from: run.slotAt, to: run.slotAt + 1 };
    const parts = (await harness.store.slotDays.within([check.id], span)).get(check.id) ?? [];
    await client.query('rollback');
    const outcomes = parts.flatMap((part) =>
      [...part.within(span, null).values()].flatMap((counts) =>
        [...counts.values()].flatMap((byOutcome) => [...byOutcome]),
      ),
    );
    expect(outcomes).toEqual([['evaluated', 1]]);
  });

  it('refuses to remove rows by their address, like older builds', async () => {
    await expect(
      client.query('delete from results where ctid = any(array(select ctid from results))'),
    ).rejects.toThrow(/address/);
    await client.query('delete from results');
  });

  it('drops whole sealed days, with the bytes of their artifacts', async () => {
    const folder = temporaryFolder();
    const artifactStore = await DirectoryStore.open(folder.path);
    const check = await createCheck(harness, { activated: false });
    await insert(check.id, midnight - 60_000, midnight + 1, midnight + dayMs - 1, midnight + dayMs);
    const { rows } = await client.query('select id from results where created = $1', [midnight + 1]);
    const bytes = Buffer.from('bytes');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    // The row refers to bytes that were kept for longer than the result.
    await client.query(
      `insert into artifacts (result_id, position, name, check_id, location_id, content_type, size_bytes, sha256, state, created)
        select $1, n, 'file-' || n, $2, '', 'text/plain', 5, $3, 'stored', $4 from generate_series(0, 1) as n`,
      [rows[0].id, check.id, sha256, midnight + 10 * dayMs],
    );
    const keys = [0, 1].map((position) => `${check.id}/${rows[0].id}/${position}`);
    for (const key of keys) await artifactStore.put(key, Readable.from([bytes]), { sizeBytes: 5, sha256 });
    const [, day] = (await harness.store.resultDays.parts()).slice(0, 2);
    if (!day) throw new Error('no day');
    expect([day.from, await harness.store.resultDays.isNeeded(day)]).toEqual([midnight, true]);
    await harness.store.retired.setTrustedUntil(midnight + 31 * dayMs, 0);
    const kept = { artifactsMs: 30 * dayMs, analyticsMs: 90 * dayMs, auditMs: 90 * dayMs };
    const retention = new Retention({
      ...{ store: harness.store, artifactStore, clock, logger },
      retention: { ...kept, resultsMs: 30 * dayMs },
    });
    const rounds = async () => {
      for (let turn = 0; turn < 20; turn += 1) await retention.turn();
    };
    // An hour before its last result expires, the day is still complete.
    clock.set(midnight + 31 * dayMs - 3_600_000);
    await rounds();
    expect(await placesOf()).toEqual({ [nameOf(midnight)]: 2, [nameOf(midnight + dayMs)]: 1 });
    expect(await harness.store.resultDays.isNeeded(day)).toBe(false);
    const stream = await artifactStore.open(keys[0] ?? '');
    expect(stream?.destroy()).toBeDefined();
    clock.advance(3_700_000);
    await rounds();
    expect(await placesOf()).toEqual({ [nameOf(midnight + dayMs)]: 1 });
    expect(await names()).not.toContain(nameOf(midnight));
    expect(await Promise.all(keys.map((key) => artifactStore.open(key)))).toEqual([undefined, undefined]);
    expect((await client.query('select from artifacts')).rowCount).toBe(0);
    const answer = await harness.store.resultColumns.sealedUntil(check.id);
    expect(answer).toBeGreaterThan(midnight + dayMs - 1);
    await artifactStore.close();
    folder.remove();
  });

  it('creates partitions of a store with results, and loses none', async () => {
    // As migrations up to the previous one left it.
    const check = await createCheck(harness, { activated: false });
    await client.query(`
      create table plain (like results including all);
      alter table plain drop constraint plain_pkey;
      drop table results;
      alter table plain rename to results;
      alter table results add constraint results_pkey primary key (id);
      create unique index results_one_final on results (run_id) where result_type = 'FINAL';
      drop index if exists plain_check_id_created_id_result_type_has_errors_has_failure_idx;
      create index results_by_check on results
        (check_id, created, id, result_type, has_errors, has_failures, code, response_time)`);
    const instants = Array.from({ length: 500 }, (_, index) => clock.wallMs() - index * 3_600_000);
    await insert(check.id, ...instants);
    const before = await client.query(`select md5(string_agg(id, ',' order by id)) as sum from results`);
    expect(await names()).toEqual([]);
    while (!(await harness.store.resultDays.isDivided())) await keeper.turn();
    await keeper.turn();
    expect(await placesOf()).toEqual({ results_before: 500 });
    const after = await client.query(`select md5(string_agg(id, ',' order by id)) as sum from results`);
    expect(after.rows).toEqual(before.rows);
    const later = midnight + 9 * dayMs;
    clock.set(later);
    await keeper.turn();
    await insert(check.id, later);
    expect(await placesOf()).toEqual({ results_before: 500, [nameOf(later)]: 1 });
    const [first] = instants;
    const { body } = await harness.call(
      'GET',
      `/v2/check-results/${check.id}?from=${Math.floor(((first ?? 0) - 3_600_000 * 5) / 1000)}&to=${Math.ceil((first ?? 0) / 1000) + 1}`,
    );
    expect(body.entries).toHaveLength(6);
  });
});
