import { beforeEach, expect, it } from 'vitest';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Slots that passed while the service itself was down. */
export function absenceSuite(stage: AlertStage): void {
  let chat: number;
  let desk: number;
  beforeEach(async () => {
    await stage.start();
    chat = await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'chat', method: 'POST' });
    desk = await stage.channel('PAGERDUTY', { serviceKey: 'k'.repeat(32), serviceName: 'desk' });
  });

  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const notified = async () =>
    (await stage.notifications())
      .toReversed()
      .map(({ alertType, checkName, alertChannelId }) => [alertType, checkName, alertChannelId]);
  /** Takes the service down for a check's slots, if it has any, and starts it again. */
  const away = async (minutes: number) => {
    stage.clock.advance(minutes * minuteMs);
    stage.harness.startScheduler();
    stage.harness.startHeartbeatWatch();
  };
  const recorded = (id: string) =>
    stage.advanceUntil('slots are recorded', async () =>
      (await stage.runsOf(id)).some(({ reason }) => reason === 'service-away'),
    );

  it('is one gap of all checks once the service is back, and its end is sent to receivers with an incident', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await stage.check({ name }));
    await away(20);
    for (const id of ids) await recorded(id);
    expect((await notified()).map(([type, , channel]) => [type, channel])).toEqual([
      ['ALERT_GAP', chat],
      ['ALERT_GAP', desk],
    ]);
    const lists = await Promise.all(
      ids.map(async (id) => (await call('GET', `/v1/check-alerts/${id}?includeSuppressed=true`)).body),
    );
    const alerts = lists.flat();
    expect(alerts.map(({ suppressedBy }) => suppressedBy).sort()).toEqual(
      [null, 'same-cause', 'same-cause'].sort(),
    );
    expect(alerts[0].error).toMatch(
      /^Not measured from .+ to .+: the service was not running\. Look at its log/,
    );
    const stored = await stage.harness.store.alerts.findMany(alerts.map(({ id }) => id));
    const told = [...stored.values()].find((alert) => alert.suppressed_by === null);
    expect(JSON.parse(told?.facts ?? '{}').members).toMatchObject({ count: 3 });
    stage.harness.startAlerting();
    await stage.advanceUntil('its end is notified', async () => {
      stage.clock.advance(1_000);
      return (await notified()).length > 2;
    });
    expect((await notified()).slice(2)).toEqual([['ALERT_GAP_OVER', expect.any(String), desk]]);
  });

  it('sends nothing about few slots, and about checks that are muted or silenced', async () => {
    const short = await stage.check({ alertSettings: { monitoringGap: { slots: 50, minutes: 60 } } });
    const muted = await stage.check({ muted: true });
    const silenced = await stage.check();
    const off = await stage.check({ alertSettings: { monitoringGap: { enabled: false } } });
    await call('POST', '/v1/silences', { checkId: silenced, minutes: 600 });
    await away(20);
    for (const id of [short, muted, silenced, off]) await recorded(id);
    expect(await notified()).toEqual([]);
  });

  it('is grey for heartbeats: no process could receive their pings', async () => {
    const heartbeat = { period: 5, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };
    const { body: check } = await call('POST', '/v1/checks/heartbeat', { name: 'nightly', heartbeat });
    stage.harness.startHeartbeatWatch();
    await stage.harness.call('GET', check.heartbeat.pingUrl, undefined, { key: null });
    await stage.advanceUntil('the watch has looked', async () => stage.harness.store.heartbeats.lookedAt());
    await away(33);
    await recorded(check.id);
    const { body: counts } = await call('GET', `/v1/checks/${check.id}/slots/count`);
    expect(counts).toMatchObject({ due: 7, final: 1, missed: { 'service-away': 6 } });
    expect((await call('GET', `/v1/check-statuses/${check.id}`)).body.coverage).toMatchObject({
      ...{ due: 7, evaluated: 1, missed: { 'service-away': 6 } },
    });
    expect((await notified()).map(([type, name]) => [type, name])).toEqual([
      ['ALERT_GAP', 'nightly'],
      ['ALERT_GAP', 'nightly'],
    ]);
    // The schedule continues after the last of them.
    const timer = await stage.harness.store.heartbeats.find(check.id);
    expect(stage.clock.wallMs() - (timer?.last_at ?? 0)).toBeLessThan(5 * minuteMs);
  });
}
