import { describe, expect, it } from 'vitest';
import { expectOneCountOfGuesses } from '../../helpers/service/login-guesses.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)('three services on one PostgreSQL', () => {
  it('count login attempts together', async () => {
    const databaseUrl = await migratedDatabase();
    const processes: ServiceHarness[] = [];
    for (let index = 0; index < 3; index += 1) processes.push(await openHarness({ databaseUrl }));
    try {
      const [first] = processes;
      if (!first) throw new Error('no process');
      let turn = 0;
      await expectOneCountOfGuesses(first, async () => processes[turn++ % processes.length] ?? first);
      expect(turn).toBe(78);
    } finally {
      for (const one of processes) await one.close();
    }
  });
});
