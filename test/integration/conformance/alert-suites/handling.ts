import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginOutages } from '../../../../src/service/locations/outages.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { createLocation, TestAgent } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** User actions on alerts: acknowledge, silence, and read which alerts had no recipient. */
export function handlingSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = { PUBLIC_URL: 'https://picket.test/base' };
    await stage.start();
    await stage.channel('WEBHOOK', {
      name: 'hook',
      url: http.url,
      template: '{{ALERT_TYPE}} {{ALERT_LINK}}',
    });
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
  });

  const types = () => http.received.map(({ body }) => body.split(' ')[0]);
  const reminded = {
    alertSettings: { reminders: { amount: 100_000, interval: 5 }, monitoringGap: { enabled: false } },
  };
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const open = async () => (await call('GET', '/v1/open-alerts')).body;
  const suppressed = async (checkId: string) =>
    (await call('GET', `/v1/check-alerts/${checkId}?includeSuppressed=true`)).body
      .toReversed()
      .map((alert: { alertType: string; suppressedBy: string | null }) => [
        alert.alertType,
        alert.suppressedBy,
      ]);

  it('an acknowledged alert has no more reminders, and its recovery is notified', async () => {
    const id = await stage.check({ name: 'Shop', ...reminded });
    const path = `/v1/checks/${id}/acknowledgement`;
    expect((await call('PUT', path, {})).status).toBe(409);
    await stage.runs(id, 'failed');
    const done = await call('PUT', path, { comment: 'on it' });
    expect([done.status, done.body]).toMatchObject([
      200,
      {
        checkId: id,
        state: 'FAILING',
        isNotified: true,
        acknowledgement: { comment: 'on it', by: { kind: 'API_KEY', name: 'test' } },
      },
    ]);
    expect(await open()).toEqual([done.body]);
    await stage.delivered();
    // No timer is left, so no time has to pass.
    expect(await stage.harness.store.alerts.nextDueAt()).toBeNull();
    stage.clock.advance(30 * minuteMs);
    await stage.runs(id, 'failed', 'passed');
    await stage.delivered();
    expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY']);
    expect(await open()).toEqual([]);
    const actions = (await call('GET', '/v1/alert-actions')).body;
    expect(actions).toMatchObject([{ action: 'ACKNOWLEDGED', checkId: id, comment: 'on it' }]);
  });

  it('the log of notifications shows who knows of an open alert, or why there was no recipient', async () => {
    const words = async () =>
      (await open()).map((one: { notified: { words: string } }) => one.notified.words);
    const id = await stage.check({ name: 'Shop', alertChannelSubscriptions: [] });
    const { store, accountId } = stage.harness;
    for (const channel of await store.alertChannels.all(accountId)) {
      await store.alertChannels.setSubscribers(channel.id, []);
    }
    await stage.runs(id, 'failed');
    expect(await words()).toEqual(['no one: no channel is subscribed']);
    expect(await open()).toMatchObject([{ isNotified: false, notified: { channels: [] } }]);
    await stage.runs(id, 'passed');
    const name = await stage.channel('WEBHOOK', { url: `${http.url}/log`, name: 'Ops', template: 'x' });
    const alertChannelSubscriptions = [{ alertChannelId: name, activated: true }];
    await stage.runs(await stage.check({ name: 'Basket', alertChannelSubscriptions }), 'failed');
    await stage.delivered();
    expect(await words()).toEqual(['Webhook hook, Webhook Ops']);
    expect(await open()).toMatchObject([
      {
        isNotified: true,
        notified: { channels: [{ status: 'SUCCESS' }, { alertChannelId: name, status: 'SUCCESS' }] },
      },
    ]);
  });

  it('a withdrawn acknowledgement lets reminders continue', async () => {
    const id = await stage.check(reminded);
    await stage.runs(id, 'failed');
    await call('PUT', `/v1/checks/${id}/acknowledgement`);
    expect((await call('DELETE', `/v1/checks/${id}/acknowledgement`)).status).toBe(204);
    expect(await stage.harness.store.alerts.nextDueAt()).toBe(stage.clock.wallMs() + 5 * minuteMs);
    expect((await open())[0].acknowledgement).toBeNull();
  });

  it('alerts that a silence holds are kept with the reason, and sent when it ends early', async () => {
    const id = await stage.check({ tags: ['shop'] });
    const made = await call('POST', '/v1/silences', { tags: ['shop'], minutes: 60, comment: 'deploying' });
    expect([made.status, made.body]).toMatchObject([201, { isActive: true, createdBy: { kind: 'API_KEY' } }]);
    await stage.runs(id, 'failed', 'failed');
    await stage.delivered();
    expect(types()).toEqual([]);
    expect(await stage.alertTypes(id)).toEqual([]);
    expect(await suppressed(id)).toEqual([['ALERT_FAILURE', 'silenced']]);
    const [alert] = (await call('GET', '/v1/check-alerts?includeSuppressed=true')).body;
    expect(alert.silenceId).toBe(made.body.id);
    expect(await open()).toMatchObject([{ silencedUntil: made.body.endsAt, isNotified: false }]);
    expect((await call('DELETE', `/v1/silences/${made.body.id}`)).status).toBe(204);
    await stage.advanceUntil('it is to be told', async () => (await stage.notifications()).length === 1);
    await stage.delivered();
    expect(types()).toHaveLength(1);
    await stage.runs(id, 'passed');
    await stage.delivered();
    expect(types()).toEqual(['ALERT_FAILURE_REMAIN', 'ALERT_RECOVERY']);
    expect((await call('GET', '/v1/silences?active=false')).body).toMatchObject([{ isActive: false }]);
    expect((await call('GET', '/v1/silences?active=true')).body).toEqual([]);
  });

  it('a silence ends by itself, and alerts for ongoing failures are sent', async () => {
    const id = await stage.check({ frequency: 60 });
    await call('POST', '/v1/silences', { checkId: id, minutes: 30 });
    await stage.runs(id, 'failed');
    await stage.delivered();
    const heldUntil = await stage.harness.store.alerts.nextDueAt();
    if (heldUntil !== null) {
      expect(types()).toEqual([]);
      stage.clock.advance(heldUntil - stage.clock.wallMs());
    }
    await stage.advanceUntil('it is to be told', async () => (await stage.notifications()).length === 1);
    await stage.delivered();
    expect(types()).toHaveLength(1);
  });

  it('a silence of a location holds failures there, not elsewhere', async () => {
    const id = await stage.check();
    await call('POST', '/v1/silences', { location: 'elsewhere', minutes: 600 });
    await stage.runs(id, 'failed', 'passed');
    await call('POST', '/v1/silences', { location: 'lab', minutes: 600 });
    await stage.runs(id, 'failed');
    expect(await suppressed(id)).toEqual([
      ['ALERT_FAILURE', null],
      ['ALERT_RECOVERY', null],
      ['ALERT_FAILURE', 'silenced'],
    ]);
  });

  it('an outage of a silent location is not notified', async () => {
    const quiet = await createLocation(stage.harness, 'quiet');
    await call('POST', '/v1/silences', { location: 'quiet', minutes: 600 });
    const { store, clock } = stage.harness;
    const id = await stage.check({ privateLocations: ['quiet'] });
    await store.transaction((repositories) =>
      beginOutages(repositories, [{ location_id: quiet.id, slot_at: clock.wallMs() }], clock.wallMs()),
    );
    await new TestAgent(stage.harness, quiet).claim();
    expect([await stage.notifications(), await stage.alertTypes(id)]).toEqual([[], []]);
  });

  it('a muted check and one in maintenance leave a trace', async () => {
    const id = await stage.check({ muted: true });
    await stage.runs(id, 'failed');
    expect(await suppressed(id)).toEqual([['ALERT_FAILURE', 'muted']]);
  });

  it('refuses a silence of nothing, of everything named twice, without an end, or of unknown objects', async () => {
    const id = await stage.check();
    const refused = async (body: object) => (await call('POST', '/v1/silences', body)).body.validation?.keys;
    expect(await refused({ minutes: 5 })).toEqual(['checkId']);
    expect(await refused({ checkId: id, location: 'lab', minutes: 5 })).toEqual(['checkId']);
    expect(await refused({ checkId: id })).toEqual(['endsAt']);
    expect(await refused({ checkId: id, endsAt: '2020-01-01T00:00:00Z' })).toEqual(['endsAt']);
    expect(await refused({ checkId: id.replace(/^./, id.startsWith('0') ? '1' : '0'), minutes: 5 })).toEqual([
      'checkId',
    ]);
    const reader = await stage.harness.addKey('READ_ONLY');
    const forbidden = await stage.harness.call(
      'POST',
      '/v1/silences',
      { checkId: id, minutes: 5 },
      { key: reader },
    );
    expect(forbidden.status).toBe(403);
    expect(
      (await stage.harness.call('PUT', `/v1/checks/${id}/acknowledgement`, {}, { key: reader })).status,
    ).toBe(403);
  });

  it('the signed link acknowledges and silences without a key, once a button is pressed', async () => {
    const id = await stage.check({ name: 'Shop', ...reminded });
    const errorMessages = ['connect ECONNREFUSED 10.0.0.5:8443'];
    await stage.report(await stage.lease(id), 'failed', { errorMessages });
    await stage.delivered();
    const link = new URL(http.received[0]?.body.split(' ')[1] ?? '');
    const path = `${link.pathname.slice('/base'.length)}${link.search}`;
    const { app } = stage.harness;
    const shown = await app.inject({ url: path });
    expect(shown.statusCode).toBe(200);
    expect(shown.body).toContain('value="acknowledge"');
    expect(shown.body).toMatch(/class="cause">[^<]*refuses connections|<dd>[^<]*refuses connections/);
    expect(shown.body).toContain(`/checks/${id}/runs/`);
    expect(shown.body).toMatch(/<dt>Where<\/dt><dd>lab</);
    // Opening the page has no effect.
    expect((await open())[0].acknowledgement).toBeNull();
    const press = (url: string, what: string) =>
      app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ name: 'Ada', what }).toString(),
      });
    const acknowledged = await press(path, 'acknowledge');
    expect([acknowledged.statusCode, acknowledged.body]).toEqual([
      200,
      expect.stringContaining('is acknowledged'),
    ]);
    expect(acknowledged.body).not.toContain('value="acknowledge"');
    expect((await open())[0].acknowledgement.by).toMatchObject({
      kind: 'LINK',
      name: 'Ada (link sent to Webhook hook)',
    });
    const { body: audit } = await call('GET', '/v1/audit-log?operation=handleAlertByPage');
    expect(audit.entries).toMatchObject([
      {
        actor: { kind: 'LINK' },
        resource: expect.stringMatching(/^checks\//),
        after: { said: expect.stringContaining('acknowledged') },
      },
    ]);
    const silenced = await press(path, 'silence-location 60');
    expect(silenced.body).toContain('Everything at lab is silenced until');
    expect((await call('GET', '/v1/silences')).body).toMatchObject([{ location: 'lab', isActive: true }]);
    expect((await press(path, 'silence-check 7')).statusCode).toBe(400);
    // Without a valid signature, with that of another notification, or after a week, the page only shows the alert.
    for (const bad of [link.pathname.slice('/base'.length), path.replace(/until=\d/, 'until=9')]) {
      expect((await app.inject({ url: bad })).body).not.toContain('<form');
      expect((await press(bad, 'acknowledge')).statusCode).toBe(403);
    }
    stage.clock.advance(8 * 24 * 60 * minuteMs);
    expect((await press(path, 'acknowledge')).statusCode).toBe(403);
  });

  it('a flapping check is reported once, until it is stable', async () => {
    const settings = { flapping: { changes: 2, minutes: 60, stableMinutes: 3 } };
    const id = await stage.check({ alertSettings: settings });
    await stage.runs(
      id,
      'failed',
      'passed',
      'failed',
      'passed',
      'failed',
      'passed',
      'passed',
      'passed',
      'passed',
    );
    expect(await stage.alertTypes(id)).toEqual([
      'ALERT_FAILURE',
      'ALERT_RECOVERY',
      'ALERT_FLAPPING',
      'ALERT_RECOVERY',
    ]);
    await stage.delivered();
    expect(types()).toHaveLength(4);
  });

  it('x of y runs count over passing runs in between', async () => {
    const alertSettings = {
      escalationType: 'RATIO_BASED',
      ratioBasedEscalation: { failedRunThreshold: 2, runs: 4 },
    };
    const id = await stage.check({ alertSettings });
    await stage.runs(id, 'failed', 'passed', 'failed', 'passed');
    expect(await stage.alertTypes(id)).toEqual(['ALERT_FAILURE']);
    await stage.runs(id, 'passed');
    expect(await stage.alertTypes(id)).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY']);
  });
}
