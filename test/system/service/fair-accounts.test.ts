import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askedBy } from '../../../src/lib/turns/asker.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { createCheck, openHarness, quietLogger, until } from '../../helpers/service/service.ts';
import { emptiedDatabase } from '../../helpers/service/shared-database.ts';
import { fairnessSuite } from '../../integration/conformance/fairness-suite.ts';

describe.skipIf(whyNoPostgres() !== null)('fairness on PostgreSQL', () => {
  fairnessSuite(async () => ({ databaseUrl: await emptiedDatabase() }));

  it('ends the statement of a report on the server when its caller hangs up', async () => {
    const databaseUrl = await emptiedDatabase();
    const harness = await openHarness({ databaseUrl });
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const check = await createCheck(harness);
      const gone = new AbortController();
      const report = (signal?: AbortSignal) =>
        askedBy({ key: 'a', gone: signal }, () =>
          harness.analytics.report([{ id: check.id, checkType: 'URL' }], { from: 0, to: Date.now() }),
        );
      await client.query('begin; lock table results in access exclusive mode');
      const asked = report(gone.signal);
      await until('it waits at the server', async () => {
        const waiting = await client.query(
          `select 1 from pg_locks where not granted and database =
            (select oid from pg_database where datname = current_database())`,
        );
        return waiting.rows.length === 1;
      });
      gone.abort();
      await expect(asked).rejects.toMatchObject({
        code: 'CALLER_GONE',
        cause: { message: 'canceling statement due to user request' },
      });
      await client.query('rollback');
      expect(await report()).toEqual(new Map());
    } finally {
      await client.end();
      await harness.close();
    }
  });

  describe('of connections', () => {
    let store: Store;
    beforeAll(async () => {
      store = await openStore({
        databaseUrl: await emptiedDatabase(),
        path: '',
        logger: quietLogger,
        poolSize: 5,
      });
    });
    afterAll(() => store?.close());

    it('leaves one to other accounts, whatever an account requests', async () => {
      const ended = Promise.withResolvers<void>();
      let begun = 0;
      const hold = () =>
        store.transaction(async ({ accounts }) => {
          await accounts.findKey('none');
          begun += 1;
          await ended.promise;
        });
      const held = Array.from({ length: 20 }, () => askedBy({ key: 'a' }, hold));
      await until('it has what it gets', async () => begun === 4);
      // None of those transactions has ended.
      await askedBy({ key: 'b' }, () => store.accounts.findKey('none'));
      expect(begun).toBe(4);
      expect(store.turns?.figures()).toMatchObject({ name: 'database', waiting: 16 });
      ended.resolve();
      await Promise.all(held);
      expect(store.turns?.figures()).toMatchObject({ waiting: 0 });
    });
  });
});
