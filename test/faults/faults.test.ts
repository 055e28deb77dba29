import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyNoPostgres } from '../helpers/postgres.ts';
import { runCampaign } from './campaign.ts';

const noPostgres = whyNoPostgres();
const engines = noPostgres === null ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const);

it('agents that are restarted one after the other lose and double nothing', {
  timeout: 180_000,
}, async () => {
  const agents = ['agent-1', 'agent-2', 'agent-3'];
  const { folder, figures, violations } = await runCampaign({
    seed: 0,
    engine: 'sqlite',
    durationMs: 24_000,
    checkCount: 20,
    agents: Object.fromEntries(agents.map((agent) => [agent, 'north'])),
    plan: agents.map((subject, index) => ({
      kind: 'agent-restart',
      subject,
      fromMs: 8_000 * index,
      durationMs: 500,
      strength: 0,
    })),
  });
  expect(violations, `histories in ${folder}`).toEqual([]);
  // Nobody had to be given up, and nothing came too late or twice.
  expect(Object.keys(figures.ends).filter((end) => end.startsWith('missed'))).toEqual([]);
  expect({ stale: figures.stale, repeatedLeases: figures.expiredLeases }).toEqual({
    stale: 0,
    repeatedLeases: 0,
  });
  rmSync(folder, { recursive: true, force: true });
});

describe.concurrent('processes that are killed, stopped, cut off and starved at random', () => {
  // Long campaigns with other seeds: npm run faults -- --seed 1 --minutes 2
  it.each(engines)('keep every invariant of the ledger (%s)', { timeout: 180_000 }, async (engine) => {
    const seed = 3;
    const { folder, figures, violations } = await runCampaign({
      seed,
      engine,
      durationMs: 14_000,
      checkCount: 24,
    });
    expect(violations, `seed ${seed}, histories in ${folder}`).toEqual([]);
    expect(Object.values(figures.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(3);
    expect(figures.ends.final).toBeGreaterThan(10);
    rmSync(folder, { recursive: true, force: true });
  });
});
