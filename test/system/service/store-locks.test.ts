import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  type Answer,
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  until,
} from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

/** Statements on many runs lock them in the order of their ids, so that they cannot deadlock. */
describe.skipIf(noPostgres !== null)(`locks on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let harness: ServiceHarness;
  let location: TestLocation;
  let agent: TestAgent;
  let checkId: string;
  let client: pg.Client;

  beforeEach(async () => {
    const databaseUrl = await emptyDatabase();
    const clock = new ManualClock();
    harness = await openHarness({ databaseUrl, clock });
    location = await createLocation(harness, 'lab');
    agent = new TestAgent(harness, location);
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    checkId = check.id;
    harness.startScheduler();
    const run = await until('a run', async () => {
      clock.advance(2000);
      return (await harness.store.runs.ofCheck(checkId))[0];
    });
    const copies = Array.from({ length: 11 }, (_, index) => ({
      ...run,
      id: randomUUID(),
      slot_at: run.slot_at - index - 1,
    }));
    await harness.store.runs.insert(copies);
    client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await harness.close();
  });

  it.each<[string, (leased: Awaited<ReturnType<TestAgent['claim']>>) => Promise<unknown>]>([
    ['renewing', (leased) => agent.renew(leased)],
    ['giving back', (leased) => agent.release(leased)],
    ['deleting the check', () => harness.call('DELETE', `/v1/checks/${checkId}`)],
    [
      'cancelling at the location',
      () => harness.store.runs.cancelAtLocation(location.id, 'location-deleted', harness.clock.wallMs()),
    ],
    ['cancelling what waits', () => harness.store.runs.cancelQueued(checkId, 'deactivated', [], 0)],
  ])('%s waits for the first run without holding another', async (name, act) => {
    const leased = name === 'cancelling what waits' ? [] : await agent.claim();
    expect(leased).toHaveLength(name === 'cancelling what waits' ? 0 : 12);
    // In reverse, the opposite of the required lock order.
    const inReverse = leased.toSorted((left, right) => (left.runId < right.runId ? 1 : -1));
    const ids = (await harness.store.runs.ofCheck(checkId)).map(({ id }) => id).sort();
    await client.query('begin');
    await client.query('select id from runs where id = $1 for update', [ids[0]]);
    const acting = act(inReverse);
    await until('it waits for the lock', async () => {
      const waiting = await client.query(
        `select 1 from pg_locks where not granted and locktype in ('transactionid', 'tuple')`,
      );
      return waiting.rows.length > 0;
    });
    const others = await client.query('select id from runs where id = any($1) for update nowait', [
      ids.slice(1),
    ]);
    expect(others.rows).toHaveLength(ids.length - 1);
    await client.query('commit');
    await acting;
  });

  it('retries a transaction that was the victim of a deadlock', async () => {
    const second = await createLocation(harness, 'second');
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    let tries = 0;
    const lockBoth = (first: string, then: string) =>
      harness.store.transaction(async ({ locations }) => {
        tries += 1;
        await locations.findForUpdate(harness.accountId, first);
        holding += 1;
        if (holding === 2) bothHold.resolve();
        await bothHold.promise;
        return locations.findForUpdate(harness.accountId, then);
      });
    const found = await Promise.all([lockBoth(location.id, second.id), lockBoth(second.id, location.id)]);
    expect(found.map((row) => row?.slug_name)).toEqual(['second', 'lab']);
    // One of the two was retried, or on a slow machine both.
    expect(tries).toBeGreaterThan(2);
  });

  it('responds with 503 when the database cannot resolve a conflict', async () => {
    await client.query(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'no way' using errcode = '40001'; end $$`);
    await client.query('create trigger refuse before insert on checks execute function refuse()');
    const answer: Answer = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request: { url: 'http://x.test/' },
    });
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  });
});
