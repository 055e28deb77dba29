import { afterEach, beforeEach, expect, it } from 'vitest';
import { HeartbeatWatch } from '../../../../src/service/heartbeats/watch.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { quietLogger } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Alerts that windows, mutes and silences hold back are sent when those end, if they still apply. */
export function withheldSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = {};
    await stage.start();
    await stage.channel('WEBHOOK', {
      name: 'hook',
      url: `${http.url}/hook`,
      template: '{{CHECK_NAME}}|{{ALERT_TYPE}}|{{SINCE}}',
    });
  });
  afterEach(() => http[Symbol.asyncDispose]());

  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const iso = (ms: number) => new Date(ms).toISOString();
  const got = () => http.received.map(({ body }) => body.split('|').slice(0, 2).join(' '));
  const fields = { tags: ['shop'], frequency: 60, alertSettings: { monitoringGap: { enabled: false } } };

  async function windowOf(minutes: number, effect: object = { silenceAlertsTags: ['shop'] }) {
    const now = stage.clock.wallMs();
    const window = {
      name: 'deployment',
      startsAt: iso(now - minuteMs),
      endsAt: iso(now + minutes * minuteMs),
    };
    const answer = await call('POST', '/v1/maintenance-windows', { ...window, ...effect });
    expect(answer.status).toBe(201);
    return answer.body;
  }

  /** Waits for notifications and returns them. */
  async function told(count: number): Promise<string[]> {
    stage.harness.startAlerting();
    await stage.advanceUntil('it is told', async () => (await stage.notifications()).length >= count);
    await stage.delivered();
    return got();
  }

  it('sends what outlasts a window once, with its start time, when the window ends by itself', async () => {
    const id = await stage.check({ name: 'Shop', ...fields });
    const window = await windowOf(200);
    await stage.runs(id, 'failed');
    const beganAt = stage.clock.wallMs();
    expect(await stage.notifications()).toEqual([]);
    const [open] = (await call('GET', '/v1/open-alerts')).body;
    expect(open).toMatchObject({ isNotified: false, suppressedBy: 'maintenance' });
    stage.clock.advance(Date.parse(window.endsAt) - stage.clock.wallMs());
    expect(await told(1)).toEqual(['Shop ALERT_FAILURE_REMAIN']);
    expect(Math.abs(Date.parse(http.received[0]?.body.split('|')[2] ?? '') - beganAt)).toBeLessThan(minuteMs);
    await stage.runs(id, 'failed', 'passed');
    expect(await told(2)).toEqual(['Shop ALERT_FAILURE_REMAIN', 'Shop ALERT_RECOVERY']);
  });

  it.each<[string, (window: { id: number; endsAt: string }) => Promise<{ status: number }>]>([
    ['deleted', ({ id }) => call('DELETE', `/v1/maintenance-windows/${id}`)],
    [
      'shortened',
      async ({ id }) => {
        const endsAt = iso(stage.clock.wallMs() + minuteMs);
        const answer = await call('PUT', `/v1/maintenance-windows/${id}`, { endsAt });
        stage.clock.advance(minuteMs);
        return answer;
      },
    ],
    ['narrowed', ({ id }) => call('PUT', `/v1/maintenance-windows/${id}`, { silenceAlertsTags: ['other'] })],
    [
      'said to be completed',
      ({ id }) =>
        call('POST', `/v1/maintenance-windows/${id}/maintenances/1/updates`, {
          status: 'COMPLETED',
          description: 'done',
        }),
    ],
    ['called off', ({ id }) => call('DELETE', `/v1/maintenance-windows/${id}/maintenances/1`)],
  ])('sends it when the window is %s', async (_what, end) => {
    const id = await stage.check({ name: 'Shop', ...fields });
    const window = await windowOf(600);
    await stage.runs(id, 'failed');
    await stage.delivered();
    expect(got()).toEqual([]);
    const { status } = await end(window);
    expect(status).toBeLessThan(300);
    expect(await told(1)).toEqual(['Shop ALERT_FAILURE_REMAIN']);
  });

  it('sends it when a mute of the check or of its group is lifted, but never what was over before', async () => {
    const group = (await call('POST', '/v1/check-groups', { name: 'Shops', muted: true })).body;
    const own = await stage.check({ name: 'Own', muted: true, ...fields });
    const grouped = await stage.check({ name: 'Grouped', groupId: group.id, ...fields });
    const gone = await stage.check({ name: 'Gone', muted: true, ...fields });
    for (const id of [own, grouped]) await stage.runs(id, 'failed');
    await stage.runs(gone, 'failed', 'passed');
    for (const id of [own, gone]) {
      expect((await call('PUT', `/v1/checks/${id}`, { muted: false })).status).toBe(200);
    }
    expect(await told(1)).toEqual(['Own ALERT_FAILURE_REMAIN']);
    expect((await call('PUT', `/v1/check-groups/${group.id}`, { muted: false })).status).toBe(200);
    expect(await told(2)).toEqual(['Own ALERT_FAILURE_REMAIN', 'Grouped ALERT_FAILURE_REMAIN']);
  });

  it('sends a recovery in a window if its failure was sent before', async () => {
    const id = await stage.check({ name: 'Shop', ...fields });
    await stage.runs(id, 'failed');
    await windowOf(600);
    await stage.runs(id, 'passed', 'failed');
    await stage.delivered();
    expect(got()).toEqual(['Shop ALERT_FAILURE', 'Shop ALERT_RECOVERY']);
  });

  it('opens a gap that outlasts a window when the window ends', async () => {
    const id = await stage.check({
      ...{ name: 'Shop', ...fields },
      alertSettings: { monitoringGap: { enabled: true, slots: 1, minutes: 5 } },
    });
    const window = await windowOf(300);
    await stage.runs(id, 'broken');
    expect(await stage.notifications()).toEqual([]);
    await call('DELETE', `/v1/maintenance-windows/${window.id}`);
    expect(await told(1)).toEqual(['Shop ALERT_GAP']);
  });

  it('expects no ping of a heartbeat in a window that pauses it, and records the slots as paused', async () => {
    const { harness, clock } = stage;
    const heartbeat = { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };
    const made = await call('POST', '/v1/checks/heartbeat', { name: 'Job', tags: ['shop'], heartbeat });
    expect([made.status, made.body.message]).toEqual([201, undefined]);
    const ping = () => harness.app.inject({ url: new URL(made.body.heartbeat.pingUrl).pathname });
    await ping();
    const { endsAt } = await windowOf(35, { tags: ['shop'] });
    const watch = new HeartbeatWatch({ store: harness.store, clock, logger: quietLogger });
    const reasons = async () =>
      (await harness.store.runs.ofCheck(made.body.id)).map(({ state, reason }) => reason ?? state);
    // The watch runs often enough to know that the service was up.
    const lookUntil = async (isDone: () => Promise<boolean>) => {
      while (!(await isDone())) {
        clock.advance(10_000);
        await watch.turn();
      }
    };
    await lookUntil(async () => clock.wallMs() >= Date.parse(endsAt) + minuteMs);
    expect(await reasons()).toEqual(['final', ...Array(3).fill('paused-by-maintenance')]);
    expect(await stage.notifications()).toEqual([]);
    // From then on a ping is expected again.
    await lookUntil(async () => (await reasons()).length > 4);
    expect(await told(1)).toEqual(['Job ALERT_FAILURE']);
  });
}
