import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { ServiceMetrics } from '../../../../src/service/metrics/metrics.ts';
import { Scheduler } from '../../../../src/service/runs/scheduler.ts';
import { createCheck, quietLogger } from '../../../helpers/service/service.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

/** Advances to a time before the next slot of a check, and lets the scheduler look. Returns the slot. */
async function lookBeforeSlot({ harness, clock }: StoreStage, checkId: string, ms: number) {
  const slotAt = (await harness.store.checks.find(harness.accountId, checkId))?.slots.nextSlotAt ?? 0;
  clock.advance(slotAt - ms - clock.wallMs());
  const scheduler = new Scheduler({
    ...{ store: harness.store, clock, logger: quietLogger, metrics: new ServiceMetrics() },
    recordAgentless: async () => false,
  });
  await scheduler.turn();
  return { scheduler, slotAt };
}

/** Runs that agents have before their slots. */
export function earlyClaimSuite(stage: StoreStage): void {
  it('gives runs before their slots only to agents that start them there', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const check = await createCheck(harness, { frequency: 10, privateLocations: ['lab'] });
    const { slotAt } = await lookBeforeSlot(stage, check.id, 400);
    const ahead = { aheadMs: 2_000, aheadSlots: { probe: 5 } };
    expect(await agent.claim()).toEqual([]);
    expect(await agent.claim({ ...ahead, aheadMs: 399 })).toEqual([]);
    expect(await agent.claim({ ...ahead, aheadSlots: { probe: 0 } })).toEqual([]);
    const runs = await agent.claim(ahead);
    expect(runs).toMatchObject([{ slotAt, leaseNumber: 1, mayReportLater: true }]);
    expect(await stage.runsOf(check.id)).toMatchObject([
      { state: 'leased', first_leased_at: slotAt, lease_until: clock.wallMs() + leaseTtlMs },
    ]);
    // Given back, it waits for its slot.
    expect(await agent.release(runs)).toBe(1);
    expect(await stage.runsOf(check.id)).toMatchObject([
      { state: 'queued', ready_at: slotAt, expires_at: slotAt + 360_000 },
    ]);
    expect(await agent.claim()).toEqual([]);
    clock.advance(400);
    expect(await agent.claim()).toMatchObject([{ slotAt, leaseNumber: 2 }]);
  });

  it('gives runs that are due before those that are early, up to the free slots', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const check = await createCheck(harness, { frequency: 10, privateLocations: ['lab'] });
    const { slotAt } = await lookBeforeSlot(stage, check.id, 400);
    const [queued] = await stage.runsOf(check.id);
    if (!queued) throw new Error('no run');
    const copy = (slot_at: number, fields: Partial<typeof queued> = {}) => ({
      ...queued,
      ...{ id: randomUUID(), slot_at, ready_at: slot_at },
      ...fields,
    });
    // A retry waits for its own time, though its slot is past.
    const copies = [copy(slotAt - 700), copy(slotAt - 600), copy(slotAt - 500, { ready_at: slotAt + 5_000 })];
    await harness.store.runs.insert(copies);
    const ahead = { aheadMs: 2_000, aheadSlots: { probe: 5 } };
    expect(clock.wallMs()).toBe(slotAt - 400);
    const first = await agent.claim({ ...ahead, freeSlots: { probe: 1 } });
    const others = await agent.claim({ ...ahead, freeSlots: { probe: 3 } });
    expect([first, others].map((runs) => runs.map((run) => slotAt - run.slotAt))).toEqual([[700], [600, 0]]);
    // With early ones it gets no more than it takes of these; without, as many as it has free slots.
    await harness.store.runs.insert([-900, -800, 1, 2].map((ms) => copy(slotAt + ms)));
    const three = await agent.claim({ ...ahead, aheadSlots: { probe: 3 }, freeSlots: { probe: 5 } });
    expect(three.map((run) => slotAt - run.slotAt)).toEqual([900, 800, -1]);
    await harness.store.runs.insert([-950, -850].map((ms) => copy(slotAt + ms)));
    expect((await agent.claim({ freeSlots: { probe: 5 } })).map((run) => slotAt - run.slotAt)).toEqual([
      950, 850,
    ]);
  });

  it('never ends a slot before its time, and no slot of a paused check becomes a run', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const check = await createCheck(harness, { frequency: 10, privateLocations: ['lab'] });
    const window = await harness.call('POST', '/v1/maintenance-windows', {
      name: 'work',
      startsAt: new Date(clock.wallMs()).toISOString(),
      endsAt: new Date(clock.wallMs() + 86_400_000).toISOString(),
      pauseAllChecks: true,
    });
    expect(window).toMatchObject({ status: 201 });
    const { slotAt, scheduler } = await lookBeforeSlot(stage, check.id, 400);
    expect(await stage.runsOf(check.id)).toEqual([]);
    clock.advance(400);
    await scheduler.turn();
    expect(await stage.runsOf(check.id)).toMatchObject([
      { slot_at: slotAt, ended: slotAt, state: 'missed', reason: 'paused-by-maintenance' },
    ]);
  });

  it('cancels the runs of a check that is deactivated before their slots', async () => {
    await stage.start();
    const { harness, agent } = stage;
    const check = await createCheck(harness, { frequency: 10, privateLocations: ['lab'] });
    await lookBeforeSlot(stage, check.id, 400);
    expect(await stage.runsOf(check.id)).toMatchObject([{ state: 'queued' }]);
    await harness.call('PUT', `/v1/checks/${check.id}`, { activated: false });
    expect(await stage.runsOf(check.id)).toMatchObject([{ state: 'cancelled', reason: 'deactivated' }]);
    expect(await agent.claim({ aheadMs: 2_000, aheadSlots: { probe: 5 } })).toEqual([]);
  });
}
