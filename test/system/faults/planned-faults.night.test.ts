import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCampaign } from './campaign.ts';
import type { FaultKind } from './fault-plan.ts';

/** A plan of one's own instead of a seed's. */
const planned = (
  faults: readonly (readonly [FaultKind, subject: string, fromMs: number, durationMs: number])[],
) =>
  faults.map(([kind, subject, fromMs, durationMs]) => ({ kind, subject, fromMs, durationMs, strength: 0 }));

/** All agents at one location. */
const together = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`agent-${index + 1}`, 'north']));

describe.concurrent('agents of one location', () => {
  it('that are restarted one after the other lose and double nothing', { timeout: 400_000 }, async () => {
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
    // No run lost its agent, and nothing came too late or twice. An answer that was on its way to an agent when that one
    // stopped is given back; where that call fails its leases run out, for one claim at most of each restart.
    expect(figures.ends).not.toHaveProperty(['missed: agent-lost']);
    expect(figures.stale).toBe(0);
    expect(figures.expiredClaims).toBeLessThanOrEqual(3);
    rmSync(folder, { recursive: true, force: true });
  });

  it('that are cut off or stopped for longer than a lease are replaced, and fenced when they are back', {
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
    // They did hold runs when it began, and others had to finish those.
    expect(figures.expiredClaims + figures.stale).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  });
});
