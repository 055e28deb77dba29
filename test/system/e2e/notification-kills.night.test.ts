import { expect, it } from 'vitest';
import { isNight } from '../../helpers/night.ts';
import { killNotifyingServices } from '../../helpers/service/notification-kills.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

const kills = isNight ? 80 : 5;

// `npm run bench -- notification-kills` does the same with a thousand.
it.skipIf(noPostgres !== null)(
  `no notification is lost in ${kills} kills, and none sent twice in one attempt${noPostgres ? `: ${noPostgres}` : ''}`,
  { timeout: isNight ? 1_800_000 : 600_000 },
  async () => {
    const databaseUrl = await migratedDatabase();
    const outcome = await killNotifyingServices({ databaseUrl, kills, lifeMs: 1_500, processes: 2 });
    expect(outcome).toMatchObject({ kills, lost: 0, unexplained: 0 });
    expect(outcome.notifications).toBeGreaterThan(kills * 12);
    // Only notifications that a killed process was sending may have arrived twice.
    expect(outcome.repeated).toBeLessThanOrEqual(outcome.takenOver);
  },
);
