import { expect } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { ManualClock } from '../manual-clock.ts';
import { createCheck, createLocation, openHarness, reportOf, TestAgent, temporaryFolder } from './service.ts';

const intervalMs = 10_000;
const aheadMs = 2 * 3_600_000;

/**
 * Expects that checks continue at their next slot after the clock was two hours ahead and then corrected, whatever was
 * queued and leased meanwhile.
 */
export async function goOnAfterClockWasAhead(databaseUrl?: string): Promise<void> {
  const clock = new ManualClock(Date.now());
  const folder = temporaryFolder();
  const place = databaseUrl === undefined ? { folder: folder.path } : { databaseUrl };
  const harness = await openHarness({ ...place, clock });
  const location = await createLocation(harness, 'lab');
  const often = { frequency: 0, frequencyOffset: 10, privateLocations: ['lab'] };
  const checks = [await createCheck(harness, often), await createCheck(harness, often)];
  harness.startScheduler();
  harness.startLeaseSweep();
  const agent = new TestAgent(harness, location);
  /** Claims runs of all checks while time passes. */
  const claimed = async (stepMs: number): Promise<readonly LeasedRun[]> => {
    const found: LeasedRun[] = [];
    await expect
      .poll(async () => {
        clock.advance(stepMs);
        found.push(...(await agent.claim()));
        return new Set(found.map(({ check }) => check.id)).size;
      })
      .toBe(checks.length);
    return found;
  };
  await agent.report((await claimed(1_000)).map((run) => reportOf(run)));

  clock.set(clock.wallMs() + aheadMs);
  const [reported, ...held] = await claimed(1_000);
  if (reported) await agent.report([reportOf(reported)]);
  expect(held.length).toBeGreaterThan(0);
  // More slots of that time, which no agent claims.
  clock.advance(intervalMs);

  clock.set(clock.wallMs() - aheadMs);
  const setAt = clock.wallMs();
  const nextSlots = async () => {
    const stored = await Promise.all(
      checks.map(({ id }) => harness.store.checks.find(harness.accountId, id)),
    );
    return stored.map((check) => (check?.slots.nextSlotAt ?? Number.POSITIVE_INFINITY) - setAt);
  };
  // No time passes meanwhile: only the change of the clock wakes the scheduler.
  await expect.poll(async () => Math.max(...(await nextSlots()))).toBeLessThanOrEqual(intervalMs);
  clock.advance(intervalMs);
  const fresh = new Set<string>();
  await expect
    .poll(async () => {
      clock.advance(100);
      const runs = await agent.claim();
      for (const { check, slotAt } of runs)
        if (slotAt > setAt && slotAt <= clock.wallMs()) fresh.add(check.id);
      return fresh.size;
    })
    .toBe(checks.length);
  await harness.close();
  folder.remove();
}
