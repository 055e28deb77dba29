import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isNight } from '../../helpers/night.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { runCampaign } from './campaign.ts';

const noPostgres = whyNoPostgres();
// By day PostgreSQL has test/system/service/killed-processes.test.ts.
const engines = isNight && noPostgres === null ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const);

describe.concurrent('processes that are killed, stopped, cut off and starved at random', () => {
  // Long campaigns with other seeds: npm run faults -- --seed 1 --minutes 2
  it.each(engines)('keep every invariant of the ledger (%s)', { timeout: 400_000 }, async (engine) => {
    const seed = 3;
    const { folder, figures, violations } = await runCampaign({
      seed,
      engine,
      durationMs: isNight ? 120_000 : 11_000,
      checkCount: 24,
    });
    expect(violations, `seed ${seed}, histories in ${folder}`).toEqual([]);
    expect(Object.values(figures.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(3);
    expect(figures.ends.final).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  });
});
