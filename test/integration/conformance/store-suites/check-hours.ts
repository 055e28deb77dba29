import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { timingOf } from '../../../../src/service/checks/timing/timing.ts';
import { isNight } from '../../../helpers/night.ts';
import { createCheck, createLocation, reportOf, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];

/** Checks whose slots are no plain grid: hours of the week, and another frequency while they fail. */
export function checkHoursSuite(stage: StoreStage): void {
  const clockOf = (at: number) => new Date(at).toISOString().slice(11, 16);
  const stored = async (id: string) => {
    const check = await stage.harness.store.checks.find(stage.harness.accountId, id);
    if (!check) throw new Error('the check is gone');
    return check;
  };
  const view = async (id: string) => (await stage.harness.call('GET', `/v1/checks/${id}`)).body;
  /** Hours of two hours a day that began an hour ago. */
  const hoursNow = (more: Record<string, unknown> = {}) => {
    const now = stage.clock.wallMs();
    return {
      windows: [{ weekdays, from: clockOf(now - hourMs), to: clockOf(now + hourMs) }],
      ...more,
    };
  };

  it('runs a check in its hours only: outside them it is paused, nothing is missing, and the next run is known', async () => {
    await stage.start();
    await createLocation(stage.harness, 'b');
    const start = stage.clock.wallMs();
    const options = {
      privateLocations: ['lab', 'b'],
      frequency: 30,
      retryStrategy: null,
      doubleCheck: false,
    };
    const check = await createCheck(stage.harness, { ...options, activeHours: hoursNow() });
    const end = Math.floor((start + hourMs) / minuteMs) * minuteMs;
    while (((await stored(check.id)).slots.nextSlotAt ?? end) < end) {
      await stage.queueNextSlot(check.id);
      for (const run of await stage.agent.claim()) await stage.agent.report([reportOf(run)]);
    }
    const runs = await stage.runsOf(check.id);
    expect(runs).toHaveLength(2);
    // Each location in turn, by the number of the slot.
    expect(new Set(runs.map(({ location }) => location)).size).toBe(2);
    expect((await view(check.id)).state).toBe('passing');
    stage.clock.advance(end - stage.clock.wallMs() + 8 * hourMs);
    const resting = await view(check.id);
    expect([resting.state, await stage.runsOf(check.id)]).toEqual(['paused', runs]);
    const nextAt = Date.parse(resting.nextRunAt);
    expect([nextAt >= end + 22 * hourMs, nextAt < end + dayMs]).toEqual([true, true]);
    const slots = await stage.harness.call(
      'GET',
      `/v1/checks/${check.id}/slots/count?from=${new Date(start).toISOString()}`,
    );
    expect(slots.body).toMatchObject({ due: 2, final: 1, missed: {} });
    stage.clock.advance(nextAt - stage.clock.wallMs());
    await stage.advanceUntil('the next run', async () => (await stage.runsOf(check.id)).length === 3);
    // Its agents may take the time of two slots, as always.
    expect((await view(check.id)).state).toBe('passing');
    stage.clock.advance(40 * minuteMs);
    await stage.advanceUntil(
      'it is not measured',
      async () => (await view(check.id)).state === 'not-measured',
    );
  });

  it('counts the slots in its hours of a time in which the service was away, and no others', async () => {
    await stage.start();
    const start = stage.clock.wallMs();
    const check = await createCheck(stage.harness, {
      ...{ privateLocations: ['lab'], frequency: 10, activeHours: hoursNow() },
    });
    const { usual } = timingOf(await stored(check.id));
    stage.clock.advance(5 * dayMs + 10 * minuteMs);
    stage.harness.startScheduler();
    await stage.advanceUntil(
      'all are recorded',
      async () => ((await stored(check.id)).slots.nextSlotAt ?? 0) > stage.clock.wallMs(),
    );
    const expected = usual.list(start + 1, stage.clock.wallMs(), 1_000);
    const count = expected.rows.reduce((sum, row) => sum + row.count, 0);
    const runs = await stage.runsOf(check.id);
    expect(count).toBeGreaterThan(60);
    expect(runs.map(({ slot_at }) => slot_at)).toEqual(
      expect.arrayContaining(expected.rows.slice(0, -1).map(({ firstAt }) => firstAt)),
    );
    expect(runs.reduce((sum, run) => sum + run.slot_count, 0)).toBe(count);
  });

  it('keeps slots that were due when the hours of a check or of its group change', async () => {
    await stage.start();
    const group = await stage.harness.call('POST', '/v1/check-groups', {
      name: 'g',
      activeHours: hoursNow(),
    });
    expect(group.status).toBe(201);
    const check = await createCheck(stage.harness, {
      ...{ privateLocations: ['lab'], frequency: 10, groupId: group.body.id },
    });
    const { slots } = await stored(check.id);
    expect(slots.plannedAt).not.toBeNull();
    stage.clock.advance((slots.nextSlotAt ?? 0) - stage.clock.wallMs() + 1);
    const changed = await stage.harness.call('PUT', `/v1/check-groups/${group.body.id}`, {
      activeHours: { windows: hoursNow().windows, mode: 'PAUSE' },
    });
    expect(changed.status).toBe(200);
    expect((await stage.runsOf(check.id)).map(({ slot_at }) => slot_at)).toEqual([slots.nextSlotAt]);
    expect((await view(check.id)).state).toBe('paused');
    await stage.harness.call('PUT', `/v1/check-groups/${group.body.id}`, { activeHours: null });
    expect((await stored(check.id)).slots).toMatchObject({ plannedAt: null, restsFrom: null });
    expect((await view(check.id)).state).not.toBe('paused');
  });

  it('runs a failing check more often, and one that has recovered as before', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, {
      ...{ privateLocations: ['lab'], frequency: 60, frequencyWhileFailing: 1 },
      ...{ retryStrategy: null, doubleCheck: false },
    });
    stage.harness.startScheduler();
    const runAndReport = async (result: Parameters<typeof reportOf>[1]) => {
      const before = (await stage.runsOf(check.id)).length;
      await until('a run is due', async () => {
        // First the slots: those of a turn that ends between the two reads come with its run.
        const { slots } = await stored(check.id);
        if ((await stage.runsOf(check.id)).length > before) return true;
        const leftMs = (slots.nextSlotAt ?? 0) - stage.clock.wallMs();
        stage.clock.advance(leftMs > 0 ? leftMs : 1);
        return false;
      });
      const [run] = await stage.agent.claim();
      if (!run) throw new Error('nothing was leased');
      await stage.agent.report([reportOf(run, result)]);
      return run.slotAt;
    };
    const first = await runAndReport({ failure: down });
    expect(Date.parse((await view(check.id)).nextRunAt) - first).toBe(minuteMs);
    expect((await runAndReport({ failure: down })) - first).toBe(minuteMs);
    expect((await view(check.id)).state).toBe('failing');
    expect((await runAndReport({})) - first).toBe(2 * minuteMs);
    expect(Date.parse((await view(check.id)).nextRunAt) - first).toBe(hourMs);
    expect((await runAndReport({})) - first).toBe(hourMs);
    expect((await view(check.id)).state).toBe('passing');
    expect((await stage.runsOf(check.id)).every(({ slot_count: count }) => count === 1)).toBe(true);
  });

  it('runs a check on a schedule, and says that it is not measured by its times', async () => {
    await stage.start();
    const hour = new Date(stage.clock.wallMs() + 3 * hourMs).getUTCHours();
    const options = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const check = await createCheck(stage.harness, {
      ...options,
      schedule: { cron: `5,35 ${hour} * * *` },
    });
    const { usual } = timingOf(await stored(check.id));
    const slots = usual.list(stage.clock.wallMs(), stage.clock.wallMs() + 3 * dayMs, 100);
    const due = slots.rows.flatMap((row) =>
      Array.from({ length: row.count }, (_, index) => row.firstAt + index * row.strideMs),
    );
    expect(due).toHaveLength(6);
    for (const at of due.slice(0, 3)) {
      expect(Date.parse((await view(check.id)).nextRunAt)).toBe(at);
      await stage.queueNextSlot(check.id);
      for (const run of await stage.agent.claim()) await stage.agent.report([reportOf(run)]);
      expect((await view(check.id)).state).toBe('passing');
    }
    expect((await stage.runsOf(check.id)).map((run) => run.slot_at)).toEqual(due.slice(0, 3));
    // Nothing is missing up to the end of the second slot after the measured one, however long the first takes to come.
    await stage.queueNextSlot(check.id);
    stage.clock.advance(20 * hourMs);
    expect((await view(check.id)).state).toBe('passing');
    await stage.queueNextSlot(check.id);
    stage.clock.advance(10 * minuteMs);
    await stage.advanceUntil(
      'it is not measured',
      async () => (await view(check.id)).state === 'not-measured',
    );
  });

  if (!isNight) return;
  it('is scheduled again when a clock that was ahead is corrected', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], activeHours: hoursNow() });
    const { slots } = await stored(check.id);
    const ahead = stage.clock.wallMs() + 400 * dayMs;
    await stage.harness.store.checks.setPlannedSlots([
      [check.id, { ...slots, plannedAt: ahead, nextSlotAt: ahead + minuteMs, newestSlotAt: ahead }],
    ]);
    stage.harness.startScheduler();
    await stage.advanceUntil('the slot is near again', async () => {
      stage.clock.advance(1000);
      return ((await stored(check.id)).slots.nextSlotAt ?? Infinity) <= stage.clock.wallMs() + 20 * minuteMs;
    });
    expect((await stored(check.id)).slots.newestSlotAt).toBeLessThan(stage.clock.wallMs());
  });
}
