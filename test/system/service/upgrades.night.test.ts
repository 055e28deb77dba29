import { expect, it } from 'vitest';
import { goOnAfterClockWasAhead } from '../../helpers/service/clock-set-back.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';
import { readEverything, readPages } from '../../helpers/service/upgrades/read-everything.ts';
import { readRecordedStore, recordedStores } from '../../helpers/service/upgrades/recorded-store.ts';
import { upgradePostgres } from '../../helpers/service/upgrades/upgraded-store.ts';

const skips = whyNoPostgres() !== null;

it.skipIf(skips).each(recordedStores())('shows everything that %s stored in PostgreSQL', async (name) => {
  const recorded = readRecordedStore(name);
  const harness = await upgradePostgres(recorded, await emptyDatabase());
  const accountId = String(recorded.tables.accounts?.[0]?.id);
  const api = await readEverything(harness, accountId, recorded.known);
  const pages = await readPages(harness, accountId, api.known);
  await harness.close();
  expect([...api.problems, ...pages.problems]).toEqual([]);
  expect(api.answered).toBeGreaterThan(60);
});

it.skipIf(skips)('go on at their next slot after the clock was two hours ahead, on PostgreSQL', async () =>
  goOnAfterClockWasAhead(await emptyDatabase()),
);
