import { expect, it } from 'vitest';
import { killNotifyingServices } from '../../helpers/service/notification-kills.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

// `npm run bench -- notification-kills` does the same with a thousand.
it.skipIf(noPostgres !== null)(
  `no notification is lost in 8 kills, and none sent twice in one try${noPostgres ? `: ${noPostgres}` : ''}`,
  { timeout: 600_000 },
  async () => {
    const databaseUrl = await migratedDatabase();
    const outcome = await killNotifyingServices({ databaseUrl, kills: 8, lifeMs: 1_500, processes: 2 });
    expect(outcome).toMatchObject({ kills: 8, lost: 0, unexplained: 0 });
    expect(outcome.notifications).toBeGreaterThan(100);
    // Only what a killed process had in hand may have arrived twice.
    expect(outcome.repeated).toBeLessThanOrEqual(outcome.takenOver);
  },
);
