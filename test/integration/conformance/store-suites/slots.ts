import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { createCheck, createLocation, reportOf, TestAgent, until } from '../../../helpers/service/service.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

const minuteMs = 60_000;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');

/** Slots: schedules, retries, gaps, cancellation, and the one terminal record of each. */
export function slotSuite(stage: StoreStage): void {
  it('retries as configured: ATTEMPT, ATTEMPT, FINAL of one sequence', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, {
      privateLocations: ['lab'],
      retryStrategy: { type: 'LINEAR', baseBackoffSeconds: 5, maxRetries: 2 },
    });
    await stage.queueNextSlot(check.id);
    for (const [attempt, waitMs] of [
      [0, 0],
      [1, 5_000],
      [2, 10_000],
    ] as const) {
      if (waitMs > 0) {
        stage.clock.advance(waitMs - 1);
        expect(await stage.agent.claim()).toEqual([]);
        stage.clock.advance(1);
      }
      const [run] = await stage.agent.claim();
      if (!run) throw new Error(`attempt ${attempt} was not leased`);
      expect(run.attempt).toBe(attempt);
      expect(await stage.agent.report([reportOf(run, { failure: down })])).toEqual(['accepted']);
    }
    expect((await stage.harness.call('GET', `/v1/check-results/${check.id}`)).body).toHaveLength(1);
    const all = (await stage.harness.call('GET', `/v1/check-results/${check.id}?resultType=ALL`)).body;
    expect(
      all.map((each: { resultType: string; attempts: number }) => [each.resultType, each.attempts]),
    ).toEqual([
      ['FINAL', 2],
      ['ATTEMPT', 1],
      ['ATTEMPT', 0],
    ]);
    expect(new Set(all.map(({ sequenceId }: { sequenceId: string }) => sequenceId)).size).toBe(1);
    const status = await stage.harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(status.body).toMatchObject({ hasFailures: true, longestRun: null });
  });

  it('moves a retry to another location with agents if configured', async () => {
    await stage.start();
    const other = await createLocation(stage.harness, 'other');
    await createLocation(stage.harness, 'deserted');
    const there = new TestAgent(stage.harness, other, 'agent-there');
    await there.claim();
    const check = await createCheck(stage.harness, { privateLocations: ['lab', 'deserted', 'other'] });
    await until('a slot at lab', async () => {
      await stage.queueNextSlot(check.id);
      const runs = await stage.runsOf(check.id);
      return runs.some((run) => run.location === 'lab');
    });
    const run = (await stage.agent.claim()).find((each) => each.check.id === check.id);
    if (!run) throw new Error('nothing was leased');
    expect(await stage.agent.report([reportOf(run, { failure: down })])).toEqual(['accepted']);
    expect(await stage.agent.claim()).toEqual([]);
    const again = (await there.claim()).find((each) => each.runId === run.runId);
    expect(again).toMatchObject({ attempt: 1, location: { name: 'other' } });
    // The first agent repeats its report, as after a lost response.
    expect(await stage.agent.report([reportOf(run, { failure: down })])).toEqual(['duplicate']);
  });

  it('makes the last attempt final if the retry never starts', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run, { failure: down })]);
    expect((await stage.runsOf(check.id))[0]?.state).toBe('queued');
    await stage.advanceUntil('the run is ended', async () => {
      stage.clock.advance(1000);
      return (await stage.runsOf(check.id))[0]?.state === 'final';
    });
    const finals = (await stage.harness.call('GET', `/v1/check-results/${check.id}`)).body;
    expect(finals.map(({ id }: { id: string }) => id)).toEqual([run.resultId]);
    expect((await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures).toBe(true);
  });

  it('records slots missed during downtime as one record, and runs the newest', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    const firstSlotAt =
      (await stage.harness.store.checks.find(stage.harness.accountId, check.id))?.slots.nextSlotAt ?? 0;
    stage.clock.advance(firstSlotAt - stage.clock.wallMs() + 7 * minuteMs + 10);
    stage.harness.startScheduler();
    await until('slots are recorded', async () => (await stage.runsOf(check.id)).length === 2);
    const [gap, newest] = await stage.runsOf(check.id);
    expect(gap).toMatchObject({
      state: 'missed',
      reason: 'service-away',
      slot_at: firstSlotAt,
      slot_count: 7,
    });
    expect(newest).toMatchObject({ state: 'queued', slot_at: firstSlotAt + 7 * minuteMs, slot_count: 1 });
    expect(await stage.harness.store.runs.countSlots(check.id)).toEqual({ missed: 7, queued: 1 });
  });

  it('runs a check at its locations in turn, or at all of them at once', async () => {
    await stage.start();
    await createLocation(stage.harness, 'b');
    const inTurn = await createCheck(stage.harness, { privateLocations: ['lab', 'b', 'lab'] });
    const parallel = await createCheck(stage.harness, { privateLocations: ['lab', 'b'], runParallel: true });
    for (let slot = 0; slot < 4; slot += 1) await stage.queueNextSlot(inTurn.id);
    const places = (await stage.runsOf(inTurn.id)).map(({ location: place }) => place);
    expect(places.slice(0, 4)).toEqual(
      places[0] === 'lab' ? ['lab', 'b', 'lab', 'b'] : ['b', 'lab', 'b', 'lab'],
    );
    const bySlot = Map.groupBy(await stage.runsOf(parallel.id), (run) => run.slot_at);
    for (const runs of bySlot.values()) {
      expect(runs.map(({ location: place }) => place).sort()).toEqual(['b', 'lab']);
    }
  });

  it('cancels waiting runs when a check is deactivated, and all runs when it is deleted', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [leased] = await stage.agent.claim();
    await stage.queueNextSlot(check.id);
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: false });
    expect((await stage.runsOf(check.id)).map(({ state }) => state)).toEqual(['leased', 'cancelled']);
    expect(
      (await stage.harness.store.checks.find(stage.harness.accountId, check.id))?.slots.nextSlotAt,
    ).toBeNull();
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: true });
    if (!leased) throw new Error('nothing was leased');
    expect((await stage.harness.call('DELETE', `/v1/checks/${check.id}`)).status).toBe(204);
    expect(await stage.agent.renew([leased])).toEqual({
      serverTime: stage.clock.wallMs(),
      leaseTtlMs,
      lostRunIds: [],
      cancelledRunIds: [leased.runId],
      followedRunIds: [],
    });
    expect(await stage.agent.report([reportOf(leased)])).toEqual(['stale']);
    expect((await stage.harness.call('GET', `/v1/check-results/${check.id}`)).status).toBe(404);
    expect((await stage.runsOf(check.id)).every(({ state }) => state === 'cancelled')).toBe(true);
  });

  it('ends every slot in exactly one terminal record, whatever happens before', async () => {
    await stage.start();
    stage.harness.startScheduler();
    stage.harness.startLeaseSweep();
    const check = await createCheck(stage.harness, {
      privateLocations: ['lab'],
      frequency: 0,
      frequencyOffset: 10,
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 3, maxRetries: 1 },
    });
    const nextSlotAt = async () =>
      (await stage.harness.store.checks.find(stage.harness.accountId, check.id))?.slots.nextSlotAt ?? 0;
    const firstSlotAt = await nextSlotAt();
    const endAt = firstSlotAt + 120_000;
    for (let step = 0; stage.clock.wallMs() < endAt; step += 1) {
      stage.clock.advance(2000);
      // Otherwise a slow machine has hardly any slot that can be claimed while it is fresh.
      await stage.advanceUntil(
        'the scheduler has kept up',
        async () => (await nextSlotAt()) > stage.clock.wallMs(),
      );
      if (step % 7 === 0) continue;
      const runs = await stage.agent.claim({ freeSlots: { probe: 1 + (step % 3), script: 0 } });
      const [first, ...rest] = runs;
      if (first && step % 4 !== 0) {
        await stage.agent.report([reportOf(first, step % 3 === 0 ? { failure: down } : {})]);
      }
      if (rest.length > 0) await stage.agent.release(rest);
    }
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: false });
    await stage.advanceUntil('nothing is on its way', async () => {
      stage.clock.advance(500);
      const counts = await stage.harness.store.runs.countSlots(check.id);
      return counts.queued === undefined && counts.leased === undefined;
    });
    const runs = await stage.runsOf(check.id);
    const lastSlotAt = Math.max(
      ...runs.map(({ slot_at, slot_count }) => slot_at + (slot_count - 1) * 10_000),
    );
    const slotsDue = (lastSlotAt - firstSlotAt) / 10_000 + 1;
    expect(runs.reduce((sum, run) => sum + run.slot_count, 0)).toBe(slotsDue);
    const finals = (await stage.harness.call('GET', `/v1/check-results/${check.id}?limit=100`)).body;
    const finalRuns = runs.filter(({ state }) => state === 'final').length;
    expect(finals).toHaveLength(finalRuns);
    expect(finalRuns).toBeGreaterThan(3);
  });
}
