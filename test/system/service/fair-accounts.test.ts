import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askedBy } from '../../../src/lib/turns/asker.ts';
import { openStore, type Store } from '../../../src/service/store.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { quietLogger, until } from '../../helpers/service/service.ts';
import { emptiedDatabase } from '../../helpers/service/shared-database.ts';
import { fairnessSuite } from '../../integration/conformance/fairness-suite.ts';

describe.skipIf(whyNoPostgres() !== null)('fairness on PostgreSQL', () => {
  fairnessSuite(async () => ({ databaseUrl: await emptiedDatabase() }));

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

    it('leaves one to other accounts, whatever an account asks for', async () => {
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
      // Not one of those transactions has ended.
      await askedBy({ key: 'b' }, () => store.accounts.findKey('none'));
      expect(begun).toBe(4);
      expect(store.turns?.figures()).toMatchObject({ name: 'database', waiting: 16 });
      ended.resolve();
      await Promise.all(held);
      expect(store.turns?.figures()).toMatchObject({ waiting: 0 });
    });
  });
});
