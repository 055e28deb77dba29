import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JobLoop } from '../../../../src/platform/jobs/job-loop.ts';
import type { IncidentEvent } from '../../../../src/service/incidents/trigger.ts';
import { IncidentFeed } from '../../../../src/service/incidents/trigger.ts';
import { httpDetail } from '../../../helpers/console/http-detail.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { quietLogger } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

const dayMs = 86_400_000;

/** Effects of alerts other than failure notifications: incidents, and certificate warnings. */
export function incidentSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  const feeds: JobLoop[] = [];
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = {};
    await stage.start();
  });
  afterEach(async () => {
    for (const feed of feeds.splice(0)) await feed.stop();
    await http[Symbol.asyncDispose]();
  });

  const triggerIncident = {
    serviceId: randomUUID(),
    severity: 'CRITICAL',
    name: 'Shop is down',
    description: 'We are looking into it.',
    notifySubscribers: true,
  };
  /** Starts a feed whose handler fails the first time. */
  function startFeed(): IncidentEvent[] {
    const events: IncidentEvent[] = [];
    let calls = 0;
    const { store, clock } = stage.harness;
    const handler = async (_nouns: unknown, event: IncidentEvent) => {
      calls += 1;
      if (calls === 1) throw new Error('not yet');
      events.push(event);
    };
    const feed = new JobLoop(
      {
        name: 'incident feed',
        leaderOnly: false,
        wakesOn: ['alerts'],
        longestMs: 5_000,
        work: new IncidentFeed({ store, clock, handler }),
      },
      {
        store,
        clock,
        logger: quietLogger,
      },
    );
    feeds.push(feed);
    feed.start();
    return events;
  }

  it('opens an incident with the failure alert and resolves it with the recovery, each once', async () => {
    const checkId = await stage.check({
      triggerIncident,
      alertSettings: { runBasedEscalation: { failedRunThreshold: 2 } },
    });
    await stage.runs(checkId, 'failed');
    expect(await stage.harness.store.incidentEvents.hasAny()).toBe(false);
    await stage.runs(checkId, 'failed', 'failed', 'degraded', 'failed');
    const events = startFeed();
    await stage.advanceUntil('it was opened', async () => events.length === 1);
    await stage.runs(checkId, 'passed', 'passed');
    await stage.advanceUntil('it was resolved', async () => events.length === 2);
    expect(events.map(({ kind }) => kind)).toEqual(['open', 'resolve']);
    expect(events[0]).toMatchObject({
      checkId,
      accountId: stage.harness.accountId,
      incident: triggerIncident,
    });
    expect(events[1]?.triggerId).toBe(events[0]?.triggerId);
    await stage.runs(checkId, 'failed', 'failed');
    await stage.advanceUntil('another one was opened', async () => events.length === 3);
    expect(events[2]?.triggerId).not.toBe(events[0]?.triggerId);
    await stage.advanceUntil(
      'none is left',
      async () => !(await stage.harness.store.incidentEvents.hasAny()),
    );
    expect(events).toHaveLength(3);
  });

  it('triggers the rules with its tags, once for each failure, and ends that when the check no longer runs', async () => {
    const call = async (path: string, body: object) => {
      const answer = await stage.harness.call('POST', `/v1/status-pages${path}`, body);
      expect([path, answer.status]).toEqual([path, 201]);
      return answer.body.id as string;
    };
    const statusPageId = await call('', {
      name: 'Ours',
      url: `page-${randomUUID().slice(0, 8)}`,
      version: 3,
    });
    const componentId = await call('/components', { statusPageId, name: 'Shop' });
    const ruleId = await call('/automation-rules', {
      ...{ statusPageId, name: 'Trouble', tags: ['shop'], firstUpdate: 'a', lastUpdate: 'b' },
      components: [{ componentId, targetImpact: 'MAJOR_OUTAGE' }],
    });
    const checkId = await stage.check({ triggerIncident, tags: ['shop'] });
    const muted = await stage.check({ tags: ['shop'], muted: true });
    const other = await stage.check({ tags: ['other'] });
    for (const id of [checkId, muted, other]) await stage.runs(id, 'failed', 'failed');
    const events = startFeed();
    await stage.advanceUntil('both were opened', async () => events.length === 2);
    expect(events.map(({ kind, incident }) => [kind, incident])).toEqual([
      ['open', triggerIncident],
      ['open', { ruleId }],
    ]);
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, { activated: false });
    await stage.advanceUntil('both are over', async () => events.length === 4);
    expect(events.slice(2).map(({ kind, triggerId }) => [kind, triggerId])).toEqual(
      events.slice(0, 2).map(({ triggerId }) => ['resolve', triggerId]),
    );
  });

  it('opens none for a muted check, and resolves one whose check was muted meanwhile', async () => {
    const checkId = await stage.check({ triggerIncident, muted: true });
    await stage.runs(checkId, 'failed', 'passed');
    expect(await stage.harness.store.incidentEvents.hasAny()).toBe(false);
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, { muted: false });
    await stage.runs(checkId, 'failed');
    await stage.harness.call('PUT', `/v1/checks/${checkId}`, { muted: true });
    await stage.runs(checkId, 'passed');
    const events = startFeed();
    await stage.advanceUntil('both came', async () => events.length === 2);
    expect(events.map(({ kind }) => kind)).toEqual(['open', 'resolve']);
  });

  it('notifies a channel of a certificate that several checks share once, unless it does not group', async () => {
    const url = `${http.url}/many`;
    const once = await stage.channel('WEBHOOK', { name: 'one', url }, { sslExpiry: true });
    const each = await stage.channel(
      'WEBHOOK',
      { name: 'each', url },
      { sslExpiry: true, groupByCause: false },
    );
    const certificateExpiresAt = stage.clock.wallMs() + 20.5 * dayMs;
    const ids: string[] = [];
    // Hours pass between their slots, as if the service were down.
    const quiet = { frequency: 1440, alertSettings: { monitoringGap: { enabled: false } } };
    for (const name of ['a', 'b', 'c']) ids.push(await stage.check({ name, ...quiet }));
    for (const id of ids) await stage.report(await stage.lease(id), 'passed', { certificateExpiresAt });
    stage.harness.startAlerting();
    const told = await stage.advanceUntil('all are notified', async () => {
      const all = await stage.notifications();
      return all.length >= 4 && all;
    });
    expect(told.map(({ alertChannelId }) => alertChannelId).sort()).toEqual([once, each, each, each].sort());
    const grouped = told.find(({ alertChannelId }) => alertChannelId === once);
    const alert = (await stage.harness.store.alerts.findMany([grouped?.checkAlertId])).get(
      grouped?.checkAlertId,
    );
    expect(JSON.parse(alert?.facts ?? '{}').members).toEqual({ count: 3, names: ['a', 'b', 'c'] });
  });

  it("names the redirect host whose certificate expires, not the check's first host", async () => {
    const template = '{{SSL_CHECK_DOMAIN}}';
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/host`, template }, { sslExpiry: true });
    const checkId = await stage.check({ request: { url: 'https://shop.test/cart' } });
    const certificateExpiresAt = stage.clock.wallMs() + 9.5 * dayMs;
    const detail = httpDetail();
    if (detail.response.certificate) detail.response.certificate.host = 'login.test';
    await stage.report(await stage.lease(checkId), 'passed', { certificateExpiresAt, detail });
    stage.harness.startAlerting();
    await stage.advanceUntil('it came', async () => http.received.some(({ path }) => path === '/host'));
    expect(http.received.find(({ path }) => path === '/host')?.body).toBe('login.test');
  });

  it('notifies channels of a certificate at their own number of days, once each time', async () => {
    const template = '{{SSL_CHECK_DOMAIN}} {{SSL_DAYS_REMAINING}}: {{ALERT_TITLE}}';
    const webhook = (path: string, sslExpiryThreshold: number) =>
      stage.channel(
        'WEBHOOK',
        { name: 'hook', url: `${http.url}${path}`, template },
        { sslExpiry: true, sslExpiryThreshold },
      );
    await webhook('/early', 20);
    await webhook('/late', 5);
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/never` });
    const checkId = await stage.check({
      name: 'Shop',
      request: { url: 'https://shop.test/cart' },
      frequency: 1440,
      // Days pass in a moment here.
      alertSettings: { monitoringGap: { enabled: false } },
    });
    const run = await stage.lease(checkId);
    const certificateExpiresAt = stage.clock.wallMs() + 25.5 * dayMs;
    await stage.report(run, 'passed', { certificateExpiresAt });
    const got = (path: string) => http.received.filter((one) => one.path === path).map(({ body }) => body);
    stage.harness.startAlerting();
    // Looking every hour would take long; only the number of remaining days matters.
    const look = async (daysBefore: number, early: number, late: number) => {
      stage.clock.advance(certificateExpiresAt - daysBefore * dayMs - stage.clock.wallMs());
      let looks = 0;
      await stage.advanceUntil(`${daysBefore} days before`, async () => {
        looks += 1;
        // If it has just looked when the days pass, it looks again in an hour. Deliveries in progress still get their
        // time.
        if (looks % 400 === 0) stage.clock.advance(61 * minuteMs);
        // A delivery without a recorded outcome would be repeated after the next days have passed.
        const isRecorded = (await stage.harness.store.notifications.nextDueAt()) === null;
        return isRecorded && got('/early').length === early && got('/late').length === late;
      });
    };
    await look(20.5, 1, 0);
    expect(got('/early')).toEqual(['shop.test 20: The certificate of shop.test expires in 20 days']);
    await look(7.5, 2, 0);
    await look(5.5, 2, 1);
    await look(3.5, 3, 2);
    await look(0.5, 4, 3);
    expect(got('/late').at(-1)).toBe('shop.test 0: The certificate of shop.test expires within a day');
    await look(-0.5, 5, 4);
    expect(got('/late').at(-1)).toContain('expired less than a day ago');
    stage.clock.advance(120 * minuteMs);
    expect(got('/never')).toEqual([]);
    expect(got('/early')).toHaveLength(5);
  });
}
