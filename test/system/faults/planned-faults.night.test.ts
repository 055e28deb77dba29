import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCampaign } from './campaign.ts';
import type { FaultKind } from './fault-plan.ts';

/** A fixed plan instead of a seeded one. */
const planned = (
  faults: readonly (readonly [FaultKind, subject: string, fromMs: number, durationMs: number])[],
) =>
  faults.map(([kind, subject, fromMs, durationMs]) => ({ kind, subject, fromMs, durationMs, strength: 0 }));

/** All agents at one location. */
const together = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`agent-${index + 1}`, 'north']));

describe.concurrent('agents of one location', () => {
  it('that are restarted one after the other lose and duplicate nothing', { timeout: 400_000 }, async () => {
    const { folder, figures, violations } = await runCampaign({
      seed: 0,
      engine: 'sqlite',
      durationMs: 12_000,
      checkCount: 20,
      agents: together(3),
      nemesis: async (victims) => {
        for (const [name, { process }] of victims) {
          if (!name.startsWith('agent')) continue;
          await process.end('SIGTERM');
          process.start();
          await process.ready(180_000);
        }
      },
    });
    expect(violations, `histories in ${folder}`).toEqual([]);
    // No run lost its agent, and nothing was late or duplicated. The leases of a response in flight to an agent that
    // stops are given back; if that call fails they expire, for one claim at most per restart.
    expect(figures.ends).not.toHaveProperty(['missed: agent-lost']);
    expect(figures.stale).toBe(0);
    expect(figures.expiredClaims).toBeLessThanOrEqual(3);
    rmSync(folder, { recursive: true, force: true });
  });

  it('that are cut off or stopped for longer than a lease are replaced, and fenced when they return', {
    timeout: 400_000,
  }, async () => {
    const { folder, figures, violations } = await runCampaign({
      seed: 0,
      engine: 'sqlite',
      durationMs: 22_000,
      checkCount: 24,
      agents: together(4),
      plan: planned([
        ['wire-cut', 'agent-1', 500, 19_000],
        ['agent-stop', 'agent-2', 3_500, 17_000],
        ['wire-replies-lost', 'agent-3', 500, 18_000],
      ]),
    });
    expect(violations, `histories in ${folder}`).toEqual([]);
    // They held runs when it began, and other agents finished those.
    expect(figures.expiredClaims + figures.stale).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  });
});
