import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginOutages } from '../../../../src/service/locations/outages.ts';
import {
  type HttpReceiver,
  type MailReceiver,
  startHttpReceiver,
  startMailReceiver,
} from '../../../helpers/service/alert-receivers.ts';
import { createLocation } from '../../../helpers/service/service.ts';
import type { AlertStage } from './alert-stage.ts';

/** Open and ended alerts, and the notifications about them. */
export function entrySuite(stage: AlertStage): void {
  let http: HttpReceiver;
  let mail: MailReceiver;
  let hook: number;
  beforeEach(async () => {
    http = await startHttpReceiver();
    mail = await startMailReceiver();
    stage.alerting = { SMTP_URL: mail.url, MAIL_FROM: 'Picket <alerts@picket.test>' };
    await stage.start();
    hook = await stage.channel('WEBHOOK', { name: 'hook', url: http.url, template: '{{ALERT_TYPE}}' });
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const entries = async (query = '') => (await call('GET', `/v1/alert-entries?limit=100${query}`)).body;
  const ids = async (query = '') => (await entries(query)).map(({ id }: { id: string }) => id);
  const noGaps = { alertSettings: { monitoringGap: { enabled: false } } };

  it('a failing check is an entry, with every notification and the answer of its receiver', async () => {
    await stage.channel('EMAIL', { address: 'ops@example.com' });
    await stage.channel('EMAIL', { address: 'nobody@example.com' });
    const id = await stage.check({ name: 'Shop', ...noGaps });
    expect(await entries()).toEqual([]);
    await stage.runs(id, 'failed');
    await stage.delivered();
    const [entry] = await entries();
    expect(entry).toMatchObject({
      ...{
        id: `check_${id}`,
        kind: 'CHECK',
        severity: 'FAILING',
        state: 'OPEN',
        name: 'Shop',
        endedAt: null,
      },
      ...{ reason: expect.stringContaining('refused the connection'), whatFailed: 'the target' },
      ...{ locations: ['lab'], memberCount: 1, acknowledgement: null, silencedUntil: null },
      members: [{ checkId: id, recoveredAt: null, checkResultId: expect.any(String) }],
    });
    const { body: whole } = await call('GET', `/v1/alert-entries/check_${id}`);
    const told = Object.fromEntries(
      whole.notifications.map(({ channelName, status, answer }: Record<string, string>) => [
        channelName,
        [status, answer],
      ]),
    );
    expect(told).toEqual({
      'Webhook hook': ['SUCCESS', 'status 200'],
      'E-mail ops@example.com': ['SUCCESS', expect.stringMatching(/^accepted: 250/)],
      'E-mail nobody@example.com': ['FAILURE', expect.stringContaining('550')],
    });
    const { body: latest } = await call('GET', '/v1/alert-notifications/latest?limit=100');
    expect(latest).toHaveLength(3);
    expect(latest[0]).toMatchObject({ alertChannelId: hook, alertType: 'ALERT_FAILURE', status: 'SUCCESS' });
    // When it is over, it is in the history, with its notifications.
    await stage.runs(id, 'passed');
    await stage.delivered();
    expect(await entries()).toEqual([]);
    expect((await call('GET', `/v1/alert-entries/check_${id}`)).status).toBe(404);
    const [ended] = await entries('&state=ENDED');
    expect(ended).toMatchObject({
      ...{ kind: 'CHECK', severity: 'FAILING', state: 'ENDED', name: 'Shop', since: entry.since },
      reason: expect.stringContaining('refused the connection'),
    });
    expect(Date.parse(ended.endedAt)).toBeGreaterThan(Date.parse(ended.since));
    const { body: history } = await call('GET', `/v1/alert-entries/${ended.id}`);
    const types = history.notifications
      .filter(({ type }: { type: string }) => type === 'WEBHOOK')
      .map(({ alertType }: { alertType: string }) => alertType);
    expect(types).toEqual(['ALERT_RECOVERY', 'ALERT_FAILURE']);
  });

  it('is filtered by state, name, check, tag, location and channel', async () => {
    const shop = await stage.check({ ...noGaps, name: 'Shop', tags: ['retail'] });
    const bank = await stage.check({ ...noGaps, name: 'Bank' });
    await call('PUT', `/v1/alert-channels/${hook}/subscriptions`, { checkId: bank, activated: false });
    await stage.runs(shop, 'failed');
    await stage.runs(bank, 'failed');
    await stage.delivered();
    const [shopEntry, bankEntry] = [`check_${shop}`, `check_${bank}`];
    expect((await ids()).sort()).toEqual([shopEntry, bankEntry].sort());
    expect(await ids('&search=sho')).toEqual([shopEntry]);
    expect(await ids(`&checkId=${bank}`)).toEqual([bankEntry]);
    expect(await ids('&tag=retail')).toEqual([shopEntry]);
    expect(await ids('&groupId=1')).toEqual([]);
    expect(await ids('&location=elsewhere')).toEqual([]);
    expect((await ids('&location=lab')).length).toBe(2);
    expect(await ids(`&alertChannelId=${hook}`)).toEqual([shopEntry]);
    await call('PUT', `/v1/checks/${shop}/acknowledgement`, { comment: 'on it' });
    await call('POST', '/v1/silences', { checkId: bank, minutes: 5 });
    expect(await ids('&state=OPEN')).toEqual([]);
    expect(await ids('&state=ACKNOWLEDGED')).toEqual([shopEntry]);
    expect(await ids('&state=SILENCED')).toEqual([bankEntry]);
    expect(await ids('&state=ENDED')).toEqual([]);
    const far = await call('GET', '/v1/alert-entries?state=ENDED&from=2020-01-01');
    expect([far.status, far.body.validation.keys]).toEqual([400, ['from']]);
    const others = await stage.harness.addAccount();
    const { body } = await stage.harness.call('GET', '/v1/alert-entries', undefined, { key: others.key });
    expect(body).toEqual([]);
    const foreign = await stage.harness.call('GET', `/v1/alert-entries/${shopEntry}`, undefined, {
      key: others.key,
    });
    expect(foreign.status).toBe(404);
  });

  it('has gaps and locations without agents', async () => {
    const gap = { alertSettings: { monitoringGap: { slots: 2, minutes: 1440 } } };
    const id = await stage.check({ name: 'Shop', ...gap });
    await stage.runs(id, 'broken', 'broken');
    const empty = await createLocation(stage.harness, 'empty');
    const { store, clock } = stage.harness;
    await store.transaction((repositories) =>
      beginOutages(repositories, [{ location_id: empty.id, slot_at: clock.wallMs() }], clock.wallMs()),
    );
    expect(await entries()).toMatchObject([
      {
        ...{ kind: 'LOCATION', severity: 'NO_AGENT', id: `location_${empty.id}`, locations: ['empty'] },
        members: [],
      },
      {
        ...{ kind: 'GAP', severity: 'NOT_MEASURED', name: 'Shop', locations: ['lab'] },
        members: [{ checkId: id, location: 'lab' }],
      },
    ]);
    const [, entry] = await entries();
    await stage.delivered();
    const { body } = await call('GET', `/v1/alert-entries/${entry.id}`);
    expect(body.notifications).toMatchObject([{ alertType: 'ALERT_GAP', alertChannelId: hook }]);
    await call('POST', '/v1/silences', { location: 'lab', minutes: 5 });
    expect(await ids('&state=SILENCED')).toEqual([entry.id]);
    await stage.runs(id, 'passed');
    const [over] = await entries('&state=ENDED');
    expect(over).toMatchObject({ kind: 'GAP', severity: 'NOT_MEASURED', since: entry.since });
  });
}
