import { expect, it } from 'vitest';
import { resultIdOf } from '../../../../src/service/runs/lease-store.ts';
import { createCheck, reportOf, until } from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Errors that a wrong clock, or its correction, must not cause. */
export function clockSuite(stage: StoreStage): void {
  it('deletes nothing by a clock that is a month ahead at the start, until it has run for a day', async () => {
    await stage.start();
    const { clock } = stage;
    const checkId = (await createCheck(stage.harness)).id;
    const rows = [1, 5, 20].map((days) =>
      resultRow(checkId, stage.harness.accountId, clock.wallMs() - days * dayMs, {}),
    );
    await stage.harness.store.results.insert(rows);
    const left = async () => (await stage.harness.store.retired.dueResults([[checkId, 1e15]], 10)).length;
    stage.harness.startRetention();
    await until(
      'retention was there',
      async () => (await stage.harness.store.retired.trustedUntil()) !== null,
    );
    await stage.harness.close();
    stage.open.splice(0);

    clock.set(clock.wallMs() + 31 * dayMs);
    stage.harness = await stage.openHere();
    stage.harness.startRetention();
    for (let hours = 0; hours < 22; hours += 1) {
      clock.advance(hourMs);
      const minute = Math.floor(clock.wallMs() / minuteMs) * minuteMs;
      await until('a turn is over', () => stage.clock.sleeperCount > 0 && minute > 0);
    }
    expect(await left()).toBe(3);
    await stage.advanceUntil('the clock is believed', async () => {
      clock.advance(5 * minuteMs);
      return (await left()) === 0;
    });
  });

  it('takes back leases and waits of a clock that was ahead', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const leased = (await createCheck(harness, fields)).id;
    const waiting = (await createCheck(harness, fields)).id;
    const right = clock.wallMs();
    clock.set(right + hourMs);
    await agent.claim();
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: leased } });
    const [run] = await agent.claim();
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: waiting } });
    clock.set(right);
    expect((await stage.runsOf(leased))[0]?.lease_until).toBeGreaterThan(right + hourMs);
    expect(await agent.claim()).toEqual([]);
    harness.startLeaseSweep();
    await stage.advanceUntil(
      'the lease ends',
      async () => (await stage.runsOf(leased))[0]?.state === 'queued',
    );
    expect(clock.wallMs()).toBeLessThan(right + 3 * leaseTtlMs);
    const again = await agent.claim();
    expect(again.map(({ check }) => check.id).sort()).toEqual([leased, waiting].sort());
    expect(await agent.report(again.map((one) => reportOf(one)))).toEqual(['accepted', 'accepted']);
    expect(again.find(({ runId }) => runId === run?.runId)?.leaseNumber).toBe(2);
  });

  it('answers a fencing token that no lease can have as stale', async () => {
    await stage.start();
    const checkId = (await createCheck(stage.harness, { privateLocations: ['lab'] })).id;
    await stage.queueNextSlot(checkId);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const leaseNumber = 2 ** 31;
    const wrong = { ...reportOf(run), leaseNumber, resultId: resultIdOf(run.runId, leaseNumber) };
    expect(await stage.agent.report([wrong, reportOf(run)])).toEqual(['stale', 'accepted']);
  });

  it('leaves neither gap nor overlap between slots when the clock jumps ahead and back', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const checkId = (await createCheck(harness, { privateLocations: ['lab'] })).id;
    await stage.queueNextSlot(checkId);
    const right = clock.wallMs();
    clock.set(right + 2 * hourMs);
    await stage.advanceUntil('the gap is recorded', async () => {
      clock.advance(1000);
      return (await stage.runsOf(checkId)).some(({ reason }) => reason === 'service-away');
    });
    clock.set(clock.wallMs() - 2 * hourMs);
    await stage.advanceUntil('slots come again', async () => {
      clock.advance(1000);
      const runs = await stage.runsOf(checkId);
      return runs.filter(({ slot_at: slotAt }) => slotAt > right && slotAt < right + hourMs).length >= 4;
    });
    const runs = (await stage.runsOf(checkId)).filter(({ slot_at: slotAt }) => slotAt < right + hourMs);
    for (const [index, run] of runs.slice(1).entries()) {
      const before = runs[index];
      expect(run.slot_at).toBe((before?.slot_at ?? 0) + (before?.slot_count ?? 0) * minuteMs);
    }
  });
}
