import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { type AlertStage, minuteMs, type Verdict } from './alert-stage.ts';

const hourMs = 60 * minuteMs;

/** Channels with quiet hours at night. */
export function quietHoursSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    await stage.start();
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
  });

  const received = () => http.received.map(({ body }) => body);
  /** Quiet hours from now on, in the local time of a zone. */
  const quiet = (hours: number, fields: object = {}) => {
    const timezone = 'Asia/Kathmandu';
    const text = (at: number) =>
      new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(at);
    const now = stage.clock.wallMs();
    return { quietHours: { from: text(now), until: text(now + hours * hourMs), timezone, ...fields } };
  };
  const hook = (flags: object) =>
    stage.channel(
      'WEBHOOK',
      { name: 'hook', url: http.url, method: 'POST', template: '{{ALERT_TYPE}} {{CHECK_NAME}}' },
      { sendDegraded: true, groupByCause: false, ...flags },
    );
  const statuses = async () => (await stage.notifications()).toReversed().map(({ status }) => status);
  /** Waits until only notifications for a later time remain. */
  const settled = () =>
    stage.advanceUntil('everything is sent or held', async () => {
      const rows = await stage.notifications();
      return rows.every(({ status, notificationResult: said }) =>
        status === 'IN_PROGRESS' ? String(said).startsWith('held by quiet hours until') : true,
      );
    });
  /** Time must not pass while a delivery is in progress: it would be repeated. */
  const inTurn = async (id: string, ...verdicts: readonly Verdict[]) => {
    for (const verdict of verdicts) {
      await stage.runs(id, verdict);
      await settled();
    }
  };
  const off = { monitoringGap: { enabled: false } };

  it('hold failures, and send at their end those that last, once', async () => {
    await hook(quiet(8));
    const lasting = await stage.check({ name: 'lasting', alertSettings: off });
    const short = await stage.check({ name: 'short', alertSettings: off });
    stage.harness.startAlerting();
    await inTurn(lasting, 'degraded', 'failed');
    await inTurn(short, 'failed', 'passed');
    expect(received()).toEqual([]);
    stage.clock.advance(8 * hourMs);
    await stage.delivered();
    expect(received()).toEqual([expect.stringMatching(/^ALERT_\w+ lasting$/)]);
    expect(await statuses()).toEqual(['QUIET', 'SUCCESS', 'QUIET', 'QUIET']);
    // Outside quiet hours everything is sent at once.
    await stage.runs(lasting, 'passed');
    await stage.delivered();
    expect(received().at(-1)).toMatch(/RECOVERY lasting$/);
  });

  it('send the recovery of failures that were sent before them', async () => {
    const channel = await hook({});
    const id = await stage.check({ name: 'Shop', alertSettings: off });
    await stage.runs(id, 'failed');
    await stage.delivered();
    await stage.harness.call('PUT', `/v1/alert-channels/${channel}`, quiet(8));
    await inTurn(id, 'passed');
    expect(received()).toEqual(['ALERT_FAILURE Shop']);
    stage.clock.advance(8 * hourMs);
    await stage.delivered();
    expect(received()).toEqual(['ALERT_FAILURE Shop', 'ALERT_RECOVERY Shop']);
  });

  it('let failures and tests through if configured', async () => {
    const channel = await hook(quiet(8, { exceptFailures: true }));
    const id = await stage.check({ name: 'Shop', alertSettings: off });
    stage.harness.startAlerting();
    await inTurn(id, 'degraded', 'passed', 'failed', 'passed');
    expect(received()).toEqual(['ALERT_FAILURE Shop', 'ALERT_RECOVERY Shop']);
    const test = stage.harness.call('POST', `/v1/alert-channels/${channel}/test`);
    await stage.advanceUntil('the test is sent', async () => received().length > 2);
    await stage.advanceUntil('it is answered', async () => {
      const state = await Promise.race([test, Promise.resolve(null)]);
      return state !== null;
    });
    expect((await test).body.status).toBe('SUCCESS');
  });

  it('are refused with invalid times or zones', async () => {
    const refused = await stage.harness.call('POST', '/v1/alert-channels', {
      type: 'EMAIL',
      config: { address: 'a@example.com' },
      quietHours: { from: '25:00', until: '07:00', timezone: 'Berlin' },
    });
    expect(refused.body.validation.keys.sort()).toEqual(['quietHours.from', 'quietHours.timezone']);
  });
}
