import { afterEach, beforeEach, expect, it } from 'vitest';
import { CheckGroupInput } from '../../../../src/protocol/checks/check-group.ts';
import {
  type HttpReceiver,
  type MailReceiver,
  startHttpReceiver,
  startMailReceiver,
} from '../../../helpers/service/alert-receivers.ts';
import { createLocation, reportOf, TestAgent } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs, type Verdict } from './alert-stage.ts';

/** The table of alert states, through real results and real receivers. */
export function transitionSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  let mail: MailReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    mail = await startMailReceiver();
    stage.alerting = { SMTP_URL: mail.url, MAIL_FROM: 'Picket <alerts@picket.test>' };
    await stage.start();
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });

  const webhook = (path: string, flags: object = {}) =>
    stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}${path}`, template: '{{ALERT_TYPE}}' }, flags);
  const got = (path: string) =>
    http.received.filter((request) => request.path === path).map(({ body }) => body);

  it.each<[Verdict[], string[]]>([
    [['passed', 'passed'], []],
    [['degraded'], ['ALERT_DEGRADED']],
    [['failed'], ['ALERT_FAILURE']],
    [
      ['degraded', 'degraded', 'passed'],
      ['ALERT_DEGRADED', 'ALERT_DEGRADED_RECOVERY'],
    ],
    [
      ['degraded', 'failed'],
      ['ALERT_DEGRADED', 'ALERT_DEGRADED_FAILURE'],
    ],
    [
      ['failed', 'failed', 'passed', 'passed'],
      ['ALERT_FAILURE', 'ALERT_RECOVERY'],
    ],
    [
      ['failed', 'degraded', 'passed'],
      ['ALERT_FAILURE', 'ALERT_FAILURE_DEGRADED', 'ALERT_DEGRADED_RECOVERY'],
    ],
    // Runs that fail only because of the agent neither alert nor recover.
    [
      ['broken', 'failed', 'broken', 'passed'],
      ['ALERT_FAILURE', 'ALERT_RECOVERY'],
    ],
  ])('%j sends webhook, Slack and mail %j, in that order', async (verdicts, types) => {
    await webhook('/hook', { sendDegraded: true });
    await stage.channel('SLACK', { url: `${http.url}/slack` }, { sendDegraded: true });
    await stage.channel('EMAIL', { address: 'ops@example.com' }, { sendDegraded: true });
    const checkId = await stage.check({ name: 'Shop' });
    await stage.runs(checkId, ...verdicts);
    const notifications = await stage.delivered();
    expect(await stage.alertTypes(checkId)).toEqual(types);
    expect(got('/hook')).toEqual(types);
    expect(got('/slack')).toHaveLength(types.length);
    expect(mail.received).toHaveLength(types.length);
    expect(notifications.map(({ status }) => status)).toEqual(types.flatMap(() => Array(3).fill('SUCCESS')));
  });

  it('sends each channel what its flags request', async () => {
    await webhook('/failures', { sendRecovery: false });
    await webhook('/recoveries', { sendFailure: false });
    await webhook('/degraded', { sendFailure: false, sendDegraded: true });
    const checkId = await stage.check();
    await stage.runs(checkId, 'degraded', 'passed', 'failed', 'degraded', 'passed');
    await stage.delivered();
    expect(got('/failures')).toEqual(['ALERT_FAILURE']);
    expect(got('/recoveries')).toEqual(['ALERT_DEGRADED_RECOVERY']);
    expect(got('/degraded')).toEqual([
      'ALERT_DEGRADED',
      'ALERT_DEGRADED_RECOVERY',
      'ALERT_FAILURE_DEGRADED',
      'ALERT_DEGRADED_RECOVERY',
    ]);
  });

  it('waits for the threshold, and reminds until the recovery', async () => {
    await webhook('/hook');
    const checkId = await stage.check({
      frequency: 10,
      alertSettings: {
        runBasedEscalation: { failedRunThreshold: 2 },
        reminders: { amount: 2, interval: 1 },
      },
    });
    await stage.runs(checkId, 'failed');
    await stage.delivered();
    expect(got('/hook')).toEqual([]);
    await stage.runs(checkId, 'failed');
    await stage.delivered();
    expect(got('/hook')).toEqual(['ALERT_FAILURE_REMAIN']);
    for (const count of [2, 3]) {
      stage.clock.advance(minuteMs);
      await stage.advanceUntil('a reminder was made', async () => {
        return (await stage.alertTypes(checkId)).length === count;
      });
      await stage.delivered();
      expect(got('/hook')).toHaveLength(count);
    }
    stage.clock.advance(5 * minuteMs);
    await stage.runs(checkId, 'passed');
    await stage.delivered();
    expect(got('/hook').at(-1)).toBe('ALERT_RECOVERY');
    expect(got('/hook')).toHaveLength(4);
    const shown = await stage.harness.call('GET', `/v1/check-alerts/${checkId}?from=1&to=2`);
    expect(shown.body).toEqual([]);
    const reminders = (await stage.harness.call('GET', `/v1/check-alerts/${checkId}`)).body;
    expect(reminders.map((alert: { isReminder: boolean }) => alert.isReminder)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('escalates by time without another run, with the settings of the account', async () => {
    await webhook('/hook');
    const settings = { escalationType: 'TIME_BASED', timeBasedEscalation: { minutesFailingThreshold: 5 } };
    const written = await stage.harness.call('PUT', '/v1/accounts/me/alert-settings', settings);
    expect([written.status, written.body.escalationType]).toEqual([200, 'TIME_BASED']);
    const checkId = await stage.check({ useGlobalAlertSettings: true, frequency: 60 });
    await stage.runs(checkId, 'failed');
    stage.harness.startAlerting();
    stage.clock.advance(4 * minuteMs);
    expect(await stage.notifications()).toEqual([]);
    stage.clock.advance(minuteMs);
    await stage.advanceUntil('it escalated', async () => got('/hook').length === 1);
    expect(got('/hook')).toEqual(['ALERT_FAILURE_REMAIN']);
  });

  it('notifies the channels of a group of its checks, by its settings', async () => {
    const ofGroup = await webhook('/group');
    await webhook('/check');
    const { harness } = stage;
    const definition = CheckGroupInput.parse({
      name: 'Shops',
      alertSettings: { runBasedEscalation: { failedRunThreshold: 2 } },
    });
    const write = { name: 'Shops', tags: [], locations: [], definition };
    const group = await harness.store.groups.add(harness.accountId, write, harness.clock.wallMs());
    const path = `/v1/alert-channels/${ofGroup}/subscriptions`;
    expect((await harness.call('PUT', path, { groupId: group.id + 1, activated: true })).status).toBe(404);
    expect((await harness.call('PUT', path, { groupId: group.id, activated: true })).body).toMatchObject({
      groupId: group.id,
      checkId: null,
    });
    const checkId = await stage.check({ groupId: group.id, useGlobalAlertSettings: true });
    await stage.runs(checkId, 'failed');
    expect(await stage.alertTypes(checkId)).toEqual([]);
    await stage.runs(checkId, 'failed');
    await stage.delivered();
    expect([got('/group'), got('/check')]).toEqual([['ALERT_FAILURE_REMAIN'], []]);
    const muted = { ...write, definition: { ...definition, muted: true } };
    await harness.store.groups.change(group.id, muted, harness.clock.wallMs());
    await stage.runs(checkId, 'passed', 'failed', 'failed');
    expect(await stage.alertTypes(checkId)).toEqual(['ALERT_FAILURE_REMAIN']);
  });

  it('counts a result once, and never one of an older slot', async () => {
    await webhook('/hook');
    const checkId = await stage.check({ alertSettings: { runBasedEscalation: { failedRunThreshold: 3 } } });
    const late = await stage.lease(checkId);
    const other = new TestAgent(stage.harness, stage.location, 'agent-2');
    await stage.queueNextSlot(checkId);
    const [newer] = await other.claim();
    if (!newer) throw new Error('nothing was leased');
    const failed = { failure: { owner: 'target', code: 'CONNECTION_REFUSED', message: 'no' } } as const;
    expect(await other.report([reportOf(newer, failed)])).toEqual(['accepted']);
    expect(await other.report([reportOf(newer, failed)])).toEqual(['duplicate']);
    await stage.agent.renew([late]);
    await stage.report(late, 'failed');
    await stage.runs(checkId, 'failed');
    expect(await stage.alertTypes(checkId)).toEqual([]);
    await stage.runs(checkId, 'failed');
    expect(await stage.alertTypes(checkId)).toEqual(['ALERT_FAILURE_REMAIN']);
  });

  it('treats a run at several locations as one, and alerts when enough of them fail', async () => {
    const second = await createLocation(stage.harness, 'second');
    const there = new TestAgent(stage.harness, second, 'there');
    await webhook('/hook');
    const parallel = { privateLocations: ['lab', 'second'], runParallel: true };
    const checkId = await stage.check({
      ...parallel,
      alertSettings: { parallelRunFailureThreshold: { enabled: true, percentage: 60 } },
    });
    const both = async (here: Verdict, elsewhere: Verdict) => {
      await stage.queueNextSlot(checkId, 2);
      const [run] = await stage.agent.claim();
      const [other] = await there.claim();
      if (!run || !other) throw new Error('nothing was leased');
      await stage.report(run, here);
      const agent = stage.agent;
      stage.agent = there;
      await stage.report(other, elsewhere);
      stage.agent = agent;
    };
    await both('failed', 'passed');
    expect(await stage.alertTypes(checkId)).toEqual([]);
    await both('failed', 'failed');
    await both('failed', 'failed');
    expect(await stage.alertTypes(checkId)).toEqual(['ALERT_FAILURE']);
    await both('passed', 'passed');
    expect(await stage.alertTypes(checkId)).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY']);

    // Without the percentage one location is enough, and a silent location delays a recovery by one slot.
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, {
      alertSettings: { parallelRunFailureThreshold: { enabled: false, percentage: 60 } },
    });
    await both('passed', 'failed');
    expect(await stage.alertTypes(checkId)).toHaveLength(3);
    for (const expected of [3, 4]) {
      await stage.queueNextSlot(checkId, 2);
      const [run] = await stage.agent.claim();
      if (!run) throw new Error('nothing was leased');
      await stage.report(run, 'passed');
      expect(await stage.alertTypes(checkId)).toHaveLength(expected);
    }
    expect((await stage.alertTypes(checkId)).at(-1)).toBe('ALERT_RECOVERY');
  });

  it('forgets the state of a check that is deactivated or deleted', async () => {
    await webhook('/hook');
    const checkId = await stage.check();
    await stage.runs(checkId, 'failed');
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, { activated: false });
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, { activated: true });
    await stage.runs(checkId, 'passed', 'failed');
    expect(await stage.alertTypes(checkId)).toEqual(['ALERT_FAILURE', 'ALERT_FAILURE']);
    await stage.harness.call('DELETE', `/v1/checks/${checkId}`);
    expect((await stage.harness.store.alerts.lockStates([checkId])).size).toBe(0);
    expect((await stage.harness.call('GET', `/v1/check-alerts/${checkId}`)).status).toBe(404);
  });
}
