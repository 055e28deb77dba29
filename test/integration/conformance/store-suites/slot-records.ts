import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { Slot } from '../../../../src/protocol/runs/slot.ts';
import { createCheck, createLocation, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');

/** The ledger in the API: the outcome of every slot. */
export function slotRecordSuite(stage: StoreStage): void {
  const slotsOf = async (checkId: string, query = '') =>
    (await stage.harness.call('GET', `/v1/checks/${checkId}/slots?${query}`)).body as {
      entries: Slot[];
      length: number;
      nextId: string | null;
    };
  const countsOf = async (path: string) => (await stage.harness.call('GET', `/v1/${path}`)).body;

  it('shows the outcome of each slot, and the reason', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], retryStrategy: null });
    await stage.queueNextSlot(check.id);
    const [passing] = await stage.agent.claim();
    if (!passing) throw new Error('nothing was leased');
    expect((await slotsOf(check.id)).entries).toMatchObject([
      { state: 'LEASED', endedAt: null, verdict: null },
    ]);
    await stage.agent.report([reportOf(passing)]);
    await stage.queueNextSlot(check.id);
    const [failing] = await stage.agent.claim();
    if (!failing) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(failing, { failure: down })]);
    await stage.queueNextSlot(check.id);
    stage.harness.startLeaseSweep();
    await stage.advanceUntil('the slot is missed', async () => {
      stage.clock.advance(5_000);
      return (await stage.runsOf(check.id)).some(({ state }) => state === 'missed');
    });
    await stage.queueNextSlot(check.id);
    await stage.harness.call('PUT', `/v1/checks/url/${check.id}`, { activated: false });

    const { entries } = await slotsOf(check.id);
    // Newest first; more than one slot may have been missed meanwhile, or was due when the check was deactivated.
    const cancelled = entries.filter(({ state }) => state === 'CANCELLED');
    const others = entries.slice(cancelled.length);
    const [passed, failed] = others.toReversed();
    const missed = others.slice(0, -2);
    expect(cancelled.length).toBeGreaterThan(0);
    for (const slot of cancelled) expect(slot).toMatchObject({ reason: 'deactivated', checkResultId: null });
    expect(missed.length).toBeGreaterThan(0);
    for (const slot of missed) {
      expect(slot).toMatchObject({ state: 'MISSED', slotCount: 1, checkResultId: null, verdict: null });
      expect(slot.reason).toMatch(/^(no-agent|over-capacity)$/);
      expect(slot.explanation).toMatch(/agent/i);
    }
    expect(failed).toMatchObject({ state: 'FINAL', verdict: 'FAILED', reason: null, location: 'lab' });
    expect(passed).toMatchObject({ state: 'FINAL', verdict: 'PASSED', startDelayMs: expect.any(Number) });
    const results = (await stage.harness.call('GET', `/v1/check-results/${check.id}`)).body as {
      id: string;
    }[];
    expect([failed, passed].map((slot) => slot?.checkResultId)).toEqual(results.map(({ id }) => id));

    const [reason] = missed.map((slot) => slot.reason);
    expect((await slotsOf(check.id, 'state=MISSED')).entries).toEqual(missed);
    expect((await slotsOf(check.id, `reason=${reason}`)).entries).toEqual(
      missed.filter((slot) => slot.reason === reason),
    );
    expect((await slotsOf(check.id, 'location=us-east-1')).entries).toEqual([]);
    const byReason = Map.groupBy(missed, (slot) => slot.reason ?? '');
    const counts = {
      due: 2 + missed.length + cancelled.length,
      final: 2,
      missed: Object.fromEntries([...byReason].map(([name, slots]) => [name, slots.length])),
      cancelled: { deactivated: cancelled.length },
      onTheirWay: 0,
    };
    expect(await countsOf(`checks/${check.id}/slots/count`)).toEqual(counts);
    expect(await countsOf(`private-locations/${stage.location.id}/slots`)).toEqual(counts);
    const coverage = async (query: string) =>
      (await stage.harness.call('GET', `/v1/private-locations/${stage.location.id}/coverage${query}`)).body;
    const { days, coverage: total } = await coverage('?days=2');
    expect(days.map(({ coverage: { due } }: { coverage: { due: number } }) => due)).toEqual([0, counts.due]);
    expect(total).toMatchObject({ due: counts.due, evaluated: 2, missed: counts.missed });
    expect((await coverage('')).days).toHaveLength(30);
    expect(await countsOf(`checks/${check.id}/slots/count?location=us-east-1`)).toMatchObject({ due: 0 });
  });

  it("counts every slot of the service's downtime", async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    // As if the service had been down: no scheduler runs meanwhile.
    stage.clock.advance(30 * minuteMs);
    stage.harness.startScheduler();
    await stage.advanceUntil('the gap is recorded', async () => (await stage.runsOf(check.id)).length > 0);
    const { entries } = await slotsOf(check.id, 'state=MISSED');
    expect(entries).toMatchObject([
      { reason: 'service-away', explanation: expect.stringContaining('service') },
    ]);
    const [gap] = entries;
    expect(gap?.slotCount).toBeGreaterThan(1);
    const counts = await countsOf(`checks/${check.id}/slots/count`);
    expect(counts.missed).toEqual({ 'service-away': gap?.slotCount });
    expect(counts.due).toBe(counts.final + (gap?.slotCount ?? 0) + counts.onTheirWay);
  });

  it('pages through slots, newest first, and omits on-demand runs', async () => {
    await stage.start();
    const other = await createLocation(stage.harness, 'other');
    const check = await createCheck(stage.harness, { privateLocations: ['lab', 'other'], runParallel: true });
    for (let count = 0; count < 3; count += 1) await stage.queueNextSlot(check.id, 2);
    await stage.harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: [check.id] } });
    const all = (await slotsOf(check.id)).entries;
    expect(all).toHaveLength(6);
    const paged: Slot[] = [];
    for (let nextId: string | null = ''; nextId !== null; ) {
      const page = await slotsOf(check.id, `limit=4${nextId ? `&nextId=${nextId}` : ''}`);
      paged.push(...page.entries);
      nextId = page.nextId;
    }
    expect(paged).toEqual(all);
    const due = all.map(({ scheduledAt }) => Date.parse(scheduledAt));
    expect(due).toEqual(due.toSorted((one, two) => two - one));
    expect(await countsOf(`private-locations/${other.id}/slots`)).toMatchObject({ due: 3, onTheirWay: 3 });
    const window = `from=${all[1]?.scheduledAt}&to=${new Date(stage.clock.wallMs() + 1).toISOString()}`;
    expect((await slotsOf(check.id, window)).entries).toHaveLength(2);
    expect((await stage.harness.call('GET', `/v1/checks/${check.id}/slots?from=2000&to=1000`)).status).toBe(
      400,
    );
    expect((await stage.harness.call('GET', `/v1/checks/${crypto.randomUUID()}/slots`)).status).toBe(404);
  });
}
