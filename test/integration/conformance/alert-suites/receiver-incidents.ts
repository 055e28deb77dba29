import { afterEach, beforeEach, expect, it } from 'vitest';
import { MaintenanceWindowInput } from '../../../../src/protocol/pages/maintenance-window.ts';
import { windowColumns } from '../../../../src/service/maintenance/window-store.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { urlDetail } from '../../../helpers/service/url-detail.ts';
import { receiverSettings } from '../channel-receivers/index.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** An incident at a receiver is closed there by whatever ends its cause, once, with the reason. */
export function receiverIncidentSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  let desk: number;
  beforeEach(async () => {
    http = await startHttpReceiver();
    http.answerNext(...Array(60).fill(202));
    stage.alerting = receiverSettings(http.url);
    await stage.start();
    desk = await stage.channel('PAGERDUTY', { serviceKey: 'k'.repeat(32) });
  });
  afterEach(() => http[Symbol.asyncDispose]());

  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  /** Events that PagerDuty received, by key: `trigger Shop has failed`. */
  const events = (key = 'k'.repeat(32)) =>
    http.received
      .map(({ body }) => JSON.parse(body))
      .filter(({ routing_key }) => routing_key === key)
      .map(({ event_action, payload }) => `${event_action} ${payload.summary}`);
  const changed = async (method: string, path: string, body?: object) => {
    const { status, body: answer } = await call(method, path, body);
    expect([status < 300, answer?.message]).toEqual([true, undefined]);
  };
  const ended = async (count = 2) => {
    stage.harness.startAlerting();
    await stage.advanceUntil('the end is stored', async () => (await stage.notifications()).length >= count);
    await stage.delivered();
    // A later look finds nothing more to close.
    stage.clock.advance(3 * minuteMs);
    await stage.advanceUntil('it was looked at', async () => (await open()) === 0);
    await stage.delivered();
  };
  const open = async () => (await stage.harness.store.receiverIncidents.list(stage.harness.accountId)).length;
  const shop = async (fields: object = {}) => {
    const id = await stage.check({
      ...{ name: 'Shop', tags: ['shop'], frequency: 60 },
      alertSettings: { monitoringGap: { enabled: false } },
      ...fields,
    });
    await stage.runs(id, 'failed');
    await stage.delivered();
    expect(events()).toEqual(['trigger Shop has failed']);
    return id;
  };

  it.each<[string, string, (id: string) => Promise<void>]>([
    ['deleted', 'the check was deleted', (id) => changed('DELETE', `/v1/checks/${id}`)],
    [
      'switched off',
      'the check was deactivated',
      (id) => changed('PUT', `/v1/checks/${id}`, { activated: false }),
    ],
    [
      'muted and recovers',
      'the check passes again',
      async (id) => {
        await changed('PUT', `/v1/checks/${id}`, { muted: true });
        await stage.runs(id, 'failed', 'passed');
      },
    ],
    [
      'left without a location',
      'the check has no location left',
      (id) => changed('PUT', `/v1/checks/${id}`, { privateLocations: [] }),
    ],
    [
      'unsubscribed by itself',
      'this channel is no longer subscribed',
      (id) => changed('PUT', `/v1/checks/${id}`, { alertChannelSubscriptions: [] }),
    ],
    [
      'unsubscribed at the channel',
      'this channel is no longer subscribed',
      (id) =>
        changed('PUT', `/v1/alert-channels/${desk}/subscriptions`, {
          checkId: id,
          groupId: null,
          activated: false,
        }),
    ],
    [
      'unsubscribed with all others',
      'this channel is no longer subscribed',
      () => changed('PUT', `/v1/alert-channels/${desk}`, { subscriptions: [] }),
    ],
    [
      'put into a group with channels of its own',
      'this channel is no longer subscribed',
      async (id) => {
        const other = await stage.channel('PAGERDUTY', { serviceKey: 'o'.repeat(32) });
        const alertChannelSubscriptions = [{ alertChannelId: other, activated: true }];
        const { body } = await call('POST', '/v1/check-groups?autoAssignAlerts=false', {
          ...{ name: 'G', alertChannelSubscriptions },
        });
        await changed('PUT', `/v1/checks/${id}`, { groupId: body.id });
      },
    ],
    [
      'put into a group that is switched off',
      'the group of the check was deactivated',
      async (id) => {
        const { body } = await call('POST', '/v1/check-groups', { name: 'G', activated: false });
        await changed('PUT', `/v1/checks/${id}`, { groupId: body.id });
      },
    ],
    [
      'the last of its channel',
      'the alert channel was deleted',
      () => changed('DELETE', `/v1/alert-channels/${desk}`),
    ],
  ])('of a check that is %s', async (_what, why, change) => {
    const id = await shop();
    await change(id);
    await ended();
    expect(events()).toEqual(['trigger Shop has failed', `resolve Shop: ${why}`]);
  });

  it('of a check that recovers in a silencing window', async () => {
    const id = await shop();
    const now = stage.clock.wallMs();
    const definition = MaintenanceWindowInput.parse({
      ...{ name: 'deployment', silenceAllAlerts: true },
      startsAt: new Date(now - minuteMs).toISOString(),
      endsAt: new Date(now + 600 * minuteMs).toISOString(),
    });
    const dated = { account_id: stage.harness.accountId, created: now, updated: null };
    await stage.harness.store.windows.insert({ ...windowColumns(definition), ...dated });
    await stage.runs(id, 'passed');
    await ended();
    expect(events()).toEqual(['trigger Shop has failed', 'resolve Shop has recovered']);
  });

  it('of the checks of a deactivated group, whose failure is reported again once it is back', async () => {
    const group = (await call('POST', '/v1/check-groups', { name: 'G' })).body;
    const id = await shop({ groupId: group.id });
    await changed('PUT', `/v1/check-groups/${group.id}`, { activated: false });
    await ended();
    await changed('PUT', `/v1/check-groups/${group.id}`, { activated: true });
    await stage.runs(id, 'failed');
    await stage.delivered();
    expect(events()).toEqual([
      'trigger Shop has failed',
      'resolve Shop: the group of the check was deactivated',
      'trigger Shop has failed',
    ]);
  });

  it('moves to the new receiver of a changed channel, and stays if only its name changes', async () => {
    const id = await shop();
    await changed('PUT', `/v1/alert-channels/${desk}`, { config: { serviceName: 'Desk' } });
    await changed('PUT', `/v1/alert-channels/${desk}`, { config: { serviceKey: 'n'.repeat(32) } });
    await stage.delivered();
    await stage.runs(id, 'passed');
    await stage.delivered();
    expect(events()).toEqual([
      'trigger Shop has failed',
      'resolve Shop: the alert channel now uses another receiver',
    ]);
    expect(events('n'.repeat(32))).toEqual(['trigger Shop has failed', 'resolve Shop has recovered']);
    // Its settings are deleted when they are no longer needed.
    const rows = await stage.harness.store.notifications.ofCheckAndChannel(id, desk);
    for (const { former_channel_id: former } of rows) {
      if (former) expect(await stage.harness.store.receiverIncidents.findFormer(former)).toBeUndefined();
    }
  });

  it('closes once if it recovers after it was closed, and never if its author disabled closing', async () => {
    const id = await shop();
    const subscribed = (activated: boolean) =>
      changed('PUT', `/v1/alert-channels/${desk}/subscriptions`, { checkId: id, groupId: null, activated });
    await subscribed(false);
    await ended();
    await subscribed(true);
    await stage.runs(id, 'passed');
    await stage.delivered();
    expect(events()).toEqual([
      'trigger Shop has failed',
      'resolve Shop: this channel is no longer subscribed',
    ]);
    await changed('PUT', `/v1/alert-channels/${desk}`, { sendRecovery: false });
    await stage.runs(id, 'failed');
    await stage.delivered();
    await changed('DELETE', `/v1/checks/${id}`);
    stage.clock.advance(3 * minuteMs);
    await stage.advanceUntil('it was looked at', async () => (await open()) === 0);
    await stage.delivered();
    expect(events().slice(2)).toEqual(['trigger Shop has failed']);
  });

  it('sends nothing to channels that only carry messages', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/hook`, template: '{}' });
    const id = await stage.check({ name: 'Shop' });
    await stage.runs(id, 'failed');
    await changed('DELETE', `/v1/checks/${id}`);
    await ended(3);
    expect(http.received.filter(({ path }) => path === '/hook')).toHaveLength(1);
    expect(events()).toHaveLength(2);
  });

  it('of a shared cause, when its last check is deleted', async () => {
    const request = { url: 'http://shop.test/' };
    const one = await stage.check({ name: 'One', request });
    const other = await stage.check({ name: 'Other', request });
    const detail = urlDetail(request.url, '10.0.0.5');
    for (const id of [one, other]) await stage.report(await stage.lease(id), 'passed', { detail });
    for (const id of [one, other]) await stage.report(await stage.lease(id), 'failed', { detail });
    stage.harness.startAlerting();
    await stage.advanceUntil('it is told', async () => (await stage.notifications()).length >= 1);
    await stage.delivered();
    await changed('DELETE', `/v1/checks/${one}`);
    await stage.report(await stage.lease(other), 'failed', { detail });
    await stage.delivered();
    expect(events()).toHaveLength(1);
    await changed('DELETE', `/v1/checks/${other}`);
    stage.clock.advance(minuteMs);
    await ended(events().length + 1);
    const opened = events().filter((event) => event.startsWith('trigger')).length;
    expect(events().filter((event) => event.startsWith('resolve'))).toHaveLength(opened);
  });
}
