import { beforeEach, expect, it } from 'vitest';
import { createLocation, reportOf, TestAgent } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Checks that are not measured cause a gap, never a failure. */
export function gapSuite(stage: AlertStage): void {
  const url = 'http://x.test';
  let channel: number;
  beforeEach(async () => {
    await stage.start();
    channel = await stage.channel('WEBHOOK', { url, name: 'all', method: 'POST' });
    await stage.channel('WEBHOOK', { url, name: 'no gaps', method: 'POST' }, { sendGap: false });
  });

  const notified = async () =>
    (await stage.notifications())
      .toReversed()
      .map(({ alertType, checkName, alertChannelId }) => [alertType, checkName, alertChannelId]);
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const gaps = async () => (await call('GET', '/v1/monitoring-gaps')).body;
  const after = (slots: number, minutes = 1440) => ({ alertSettings: { monitoringGap: { slots, minutes } } });
  const suppressed = async (checkId: string) =>
    (await call('GET', `/v1/check-alerts/${checkId}?includeSuppressed=true`)).body.map(
      (alert: { alertType: string; suppressedBy: string | null }) => [alert.alertType, alert.suppressedBy],
    );
  /** Lets slots of a check pass while its agent is present but has no free slots. */
  const missSlots = async (id: string, count: number, agent = stage.agent) => {
    const missed = async () => (await stage.runsOf(id)).filter(({ state }) => state === 'missed').length;
    const before = await missed();
    if (before === 0) await stage.queueNextSlot(id);
    await stage.advanceUntil('the slots are missed', async () => {
      stage.clock.advance(500);
      await agent.claim({ freeSlots: { probe: 0, script: 0 } });
      return (await missed()) >= before + count;
    });
  };

  it('slots that busy agents miss are a gap, which is over when one is measured', async () => {
    const id = await stage.check({ name: 'Shop', ...after(2) });
    stage.harness.startLeaseSweep();
    await missSlots(id, 1);
    expect([await notified(), await gaps()]).toEqual([[], []]);
    await missSlots(id, 1);
    expect(await notified()).toEqual([['ALERT_GAP', 'Shop', channel]]);
    expect(await gaps()).toMatchObject([{ checkId: id, location: 'lab', slots: 2 }]);
    expect((await call('GET', '/v1/open-alerts')).body).toEqual([]);
    const [alert] = (await call('GET', `/v1/check-alerts/${id}`)).body;
    expect(alert).toMatchObject({
      alertType: 'ALERT_GAP',
      error: expect.stringContaining('Not measured at lab since'),
    });
    await stage.runs(id, 'passed');
    expect((await notified()).map(([type]) => type)).toEqual(['ALERT_GAP', 'ALERT_GAP_OVER']);
    expect(await gaps()).toEqual([]);
  });

  it('many checks with one cause at a location are one message, and one more when the last is measured', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await stage.check({ name, ...after(2) }));
    for (const id of ids) await stage.runs(id, 'broken', 'broken');
    expect(await notified()).toEqual([['ALERT_GAP', 'a', channel]]);
    expect(await Promise.all(ids.map(suppressed))).toEqual([
      [['ALERT_GAP', null]],
      [['ALERT_GAP', 'same-cause']],
      [['ALERT_GAP', 'same-cause']],
    ]);
    const [first = '', second = '', third = ''] = ids;
    await stage.runs(first, 'passed');
    await stage.runs(second, 'passed');
    expect(await notified()).toHaveLength(1);
    await stage.runs(third, 'passed');
    expect((await notified()).at(-1)).toEqual(['ALERT_GAP_OVER', 'a', channel]);
    expect(await notified()).toHaveLength(2);
  });

  it('a channel that no other check of the cause uses is notified, too', async () => {
    const first = await stage.check({ name: 'a', ...after(1) });
    const own = await stage.channel('WEBHOOK', { url, name: 'own', method: 'POST' });
    const second = await stage.check({ name: 'b', ...after(1) });
    await stage.runs(first, 'broken');
    await stage.runs(second, 'broken');
    expect((await notified()).map(([type, , id]) => [type, id])).toEqual([
      ['ALERT_GAP', channel],
      ['ALERT_GAP', own],
    ]);
    await stage.runs(first, 'passed');
    await stage.runs(second, 'passed');
    expect(await notified()).toHaveLength(4);
  });

  it('a location without agents is reported as a whole, without further gaps', async () => {
    await createLocation(stage.harness, 'quiet');
    const id = await stage.check({ privateLocations: ['quiet'], ...after(2, 1) });
    stage.harness.startLeaseSweep();
    stage.harness.startAlerting();
    for (const missed of [1, 2, 3]) {
      await stage.queueNextSlot(id);
      await stage.advanceUntil('the slot is missed', async () => {
        stage.clock.advance(500);
        return (await stage.runsOf(id)).filter(({ reason }) => reason === 'no-agent').length >= missed;
      });
    }
    expect((await notified()).map(([type]) => type)).toEqual(['ALERT_LOCATION_AWAY', 'ALERT_LOCATION_AWAY']);
    expect(await gaps()).toEqual([]);
  });

  it('an unhealthy location explains its errors', async () => {
    const id = await stage.check(after(1));
    const run = await stage.lease(id);
    const event = {
      eventId: crypto.randomUUID(),
      kind: 'resolver',
      evidence: 'no answer',
      affectedRuns: 1,
      startedAt: stage.clock.wallMs(),
      endedAt: null,
    };
    const told = await stage.agent.call('location-events', { ...stage.agent.identity, events: [event] });
    expect(told.status).toBeLessThan(300);
    await stage.report(run, 'broken');
    expect((await notified()).map(([type]) => type)).toEqual(['ALERT_LOCATION_SICK', 'ALERT_LOCATION_SICK']);
  });

  it('minutes alone open a gap', async () => {
    const id = await stage.check({ frequency: 60, ...after(100, 15) });
    await stage.runs(id, 'broken');
    const opensAt = await stage.harness.store.gaps.nextDueAt();
    expect(opensAt).not.toBeNull();
    stage.clock.advance(Number(opensAt) - stage.clock.wallMs() - 1);
    stage.harness.startAlerting();
    expect(await notified()).toEqual([]);
    stage.clock.advance(1);
    await stage.advanceUntil('it is open', async () => (await notified()).length === 1);
  });

  it('no gap opens outside the hours of a check: its first run in them decides', async () => {
    const clockOf = (at: number) => new Date(at).toISOString().slice(11, 16);
    const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];
    const now = stage.clock.wallMs();
    const id = await stage.check({
      ...{ frequency: 60, ...after(100, 15) },
      activeHours: { windows: [{ weekdays, from: clockOf(now), to: clockOf(now + 2 * minuteMs) }] },
    });
    const nextSlotAt = async () =>
      (await stage.harness.store.checks.find(stage.harness.accountId, id))?.slots.nextSlotAt ?? 0;
    await stage.runs(id, 'broken');
    const dueAgainAt = await nextSlotAt();
    expect(dueAgainAt - stage.clock.wallMs()).toBeGreaterThan(22 * 60 * minuteMs);
    const opensAt = Number(await stage.harness.store.gaps.nextDueAt());
    stage.clock.advance(opensAt - stage.clock.wallMs());
    stage.harness.startAlerting();
    await stage.advanceUntil(
      'it waits for its hours',
      async () => Number(await stage.harness.store.gaps.nextDueAt()) > dueAgainAt,
    );
    expect([await notified(), await gaps()]).toEqual([[], []]);
    stage.clock.advance(dueAgainAt - stage.clock.wallMs());
    await stage.runs(id, 'passed');
    expect([await notified(), await stage.harness.store.gaps.nextDueAt()]).toEqual([[], null]);
  });

  it('a silence holds a gap until its end, a muted check keeps it', async () => {
    const silent = await stage.check({ name: 'silent', frequency: 60, ...after(1) });
    const made = await call('POST', '/v1/silences', { checkId: silent, minutes: 600 });
    const muted = await stage.check({ name: 'muted', muted: true, ...after(1) });
    await stage.runs(silent, 'broken');
    await stage.runs(muted, 'broken');
    expect([await suppressed(silent), await suppressed(muted)]).toEqual([
      [['ALERT_GAP', 'silenced']],
      [['ALERT_GAP', 'muted']],
    ]);
    expect(await notified()).toEqual([]);
    await call('DELETE', `/v1/silences/${made.body.id}`);
    stage.harness.startAlerting();
    await stage.advanceUntil('it is told', async () => (await notified()).length === 1);
  });

  it('a gap of a deactivated check is over', async () => {
    const id = await stage.check(after(1));
    await stage.runs(id, 'broken');
    await call('PUT', `/v1/checks/url/${id}`, { activated: false });
    stage.clock.advance(2 * minuteMs);
    stage.harness.startAlerting();
    await stage.advanceUntil('it is over', async () => (await gaps()).length === 0);
    expect((await notified()).map(([type]) => type)).toEqual(['ALERT_GAP', 'ALERT_GAP_OVER']);
  });

  it('an agent of another location that measures ends no gap here', async () => {
    const second = await createLocation(stage.harness, 'second');
    const there = new TestAgent(stage.harness, second, 'there');
    const id = await stage.check({ privateLocations: ['lab', 'second'], runParallel: true, ...after(1) });
    await stage.runs(id, 'broken');
    const [run] = await there.claim();
    if (!run) throw new Error('nothing was leased');
    await there.report([reportOf(run)]);
    expect(await gaps()).toMatchObject([{ location: 'lab' }]);
  });
}
