import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { quietLogger, until } from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(`leadership on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let databaseUrl: string;
  let stores: Store[];

  beforeEach(async () => {
    databaseUrl = await emptyDatabase();
    stores = await Promise.all([1, 2].map(() => openStore({ databaseUrl, path: '', logger: quietLogger })));
  });
  afterEach(async () => {
    for (const store of stores) await store.close();
  });

  /** The two stores, the leader first. */
  async function leaderAndOther(): Promise<[Store, Store]> {
    const [one, two] = stores as [Store, Store];
    return (await one.isLeader()) ? [one, two] : [two, one];
  }

  async function query(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(text);
    await client.end();
  }

  it('belongs to one process at a time', async () => {
    const leads = await Promise.all(stores.map((store) => store.isLeader()));
    expect(leads.filter(Boolean)).toHaveLength(1);
    const [leader, other] = await leaderAndOther();
    expect(await other.isLeader()).toBe(false);
    expect(await leader.isLeader()).toBe(true);
  });

  it('is acquired, and announced, once by a process with concurrent requests', async () => {
    const lines: string[] = [];
    const logger = createLogger('picket-service', 'info', { write: (line) => lines.push(line) });
    const store = await openStore({ databaseUrl, path: '', logger });
    stores.push(store);
    const leads = await Promise.all(Array.from({ length: 5 }, () => store.isLeader()));
    expect(leads).toEqual([true, true, true, true, true]);
    expect(lines.filter((line) => line.includes('became leader'))).toHaveLength(1);
  });

  it('is passed on at once when its holder ends', async () => {
    const [leader, other] = await leaderAndOther();
    await leader.isLeader();
    stores = [other];
    await leader.close();
    await until('the other leads', () => other.isLeader(), 5_000);
  });

  it('is over for a process that was silent for too long: its writes as the leader are not stored', async () => {
    const [leader, other] = await leaderAndOther();
    await leader.isLeader();
    // As if the leader is stopped: it cannot renew, and does not know. Only the time must pass.
    await query(`update leaderships set held_until = clock_timestamp() - interval '1 second'`);
    expect(await other.isLeader()).toBe(true);
    // It believes it still leads: the fence is in the transaction.
    expect(await leader.isLeader()).toBe(true);
    let isDone = false;
    const written = await leader.leaderTransaction(async () => {
      isDone = true;
    });
    expect([written, isDone]).toEqual([undefined, false]);
    expect(await other.leaderTransaction(async () => 'done')).toBe('done');
    await until('the old leader knows', async () => !(await leader.isLeader()), 10_000);
  });

  it('cannot be acquired while a transaction of the leader is in progress', async () => {
    const [leader, other] = await leaderAndOther();
    await leader.isLeader();
    await query(`update leaderships set held_until = clock_timestamp() - interval '1 second'`);
    const [entered, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transaction = leader.leaderTransaction(async () => {
      entered.resolve();
      await finish.promise;
      return 'done';
    });
    await entered.promise;
    // Its term is over, but its work is still in progress.
    expect(await other.isLeader()).toBe(false);
    finish.resolve();
    expect(await transaction).toBe('done');
  });

  it('and its locks are released when the leader stalls in the middle of a transaction', {
    timeout: 240_000,
  }, async () => {
    const [leader, other] = await leaderAndOther();
    await leader.isLeader();
    const [entered, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transaction = leader.leaderTransaction(async (repositories) => {
      entered.resolve();
      await finish.promise;
      await repositories.accounts.list();
    });
    await entered.promise;
    const ended = expect(transaction).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await until('the database gave up the transaction', async () => (await openTransactions()) === 0, 30_000);
    finish.resolve();
    await ended;
    expect(await other.ping()).toBeUndefined();
  });

  async function openTransactions(): Promise<number> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows } = await client.query<{ n: string }>(
      `select count(*) as n from pg_stat_activity
       where datname = current_database() and state = 'idle in transaction'`,
    );
    await client.end();
    return Number(rows[0]?.n);
  }
});
