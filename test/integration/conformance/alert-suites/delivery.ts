import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type HttpReceiver,
  type MailReceiver,
  type ReceivedRequest,
  startHttpReceiver,
  startMailReceiver,
} from '../../../helpers/service/alert-receivers.ts';
import { mailParts } from '../../../helpers/service/mail-parts.ts';
import { until } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/**
 * Deliveries: messages at receivers, and the handling of failed deliveries.
 *
 * @param isShared whether several services can use the store at once.
 */
export function deliverySuite(stage: AlertStage, { isShared }: { readonly isShared: boolean }): void {
  let http: HttpReceiver;
  let mail: MailReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    mail = await startMailReceiver();
    stage.alerting = {
      SMTP_URL: mail.url,
      MAIL_FROM: 'Picket <alerts@picket.test>',
      PUBLIC_URL: 'https://picket.test/base/',
      PAGERDUTY_URL: http.url,
      OPSGENIE_URL: http.url,
      // A low limit, so that tests need few alerts.
      ALERTS_PER_MINUTE: 2,
    };
    await stage.start();
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });
  const only = (): ReceivedRequest => {
    const [request, ...others] = http.received;
    if (!request || others.length > 0) throw new Error(`${http.received.length} requests`);
    return request;
  };
  const idOf = ({ headers }: ReceivedRequest) => headers['x-service-notification-id'];

  it('sends a webhook as written: templates, query, headers, signature', async () => {
    await stage.channel('WEBHOOK', {
      name: 'hook',
      url: `${http.url}/in/{{CHECK_NAME}}?type={{ALERT_TYPE}}`,
      method: 'PUT',
      template: `{"title":"{{ALERT_TITLE}}","error":"{{CHECK_ERROR_MESSAGE}}","first":"{{lookup TAGS 0}}",
        "team":"{{tagValue "team"}}","at":"{{RUN_LOCATION}}","n":{{REMINDER_SEQUENCE}},"isUp":{{eq ALERT_TYPE "x"}},
        "tags":[{{#each TAGS}}"{{this}}"{{#unless @last}},{{/unless}}{{/each}}],"link":"{{RESULT_LINK}}"}`,
      webhookSecret: 'shared secret',
      headers: [
        { key: 'x-tag', value: '{{lookup TAGS 1}}', locked: true },
        { key: 'Host', value: 'elsewhere.test' },
      ],
      queryParameters: [{ key: 'q', value: 'a&{{CHECK_TYPE}}' }],
    });
    const checkId = await stage.check({ name: 'My "shop"', tags: ['team:core', 'two\nlines'] });
    await stage.runs(checkId, 'failed');
    const [notification] = await stage.delivered();
    const request = only();
    expect(request).toMatchObject({
      method: 'PUT',
      path: '/in/My%20%22shop%22?type=ALERT_FAILURE&q=a%26URL',
      headers: { 'content-type': 'application/json', 'x-tag': 'two lines' },
    });
    expect(request.headers.host).toBe(new URL(http.url).host);
    expect(JSON.parse(request.body)).toEqual({
      title: 'My "shop" has failed',
      error: 'connect ECONNREFUSED "10.0.0.5"',
      first: 'team:core',
      team: 'core',
      at: 'lab',
      n: 0,
      isUp: false,
      tags: ['team:core', 'two\nlines'],
      link: `https://picket.test/base/checks/${checkId}/runs/${notification.checkResultId}`,
    });
    const signature = createHmac('sha256', 'shared secret').update(request.body).digest('hex');
    expect(request.headers['x-service-signature']).toBe(signature);
    expect(request.headers['x-checkly-signature']).toBe(signature);
    expect(Number(request.headers['x-service-timestamp'])).toBeGreaterThan(Date.UTC(2026, 0, 1) - 1);
    expect(idOf(request)).toBe(notification.id);
    expect(notification).toMatchObject({
      status: 'SUCCESS',
      notificationResult: 'status 200',
      tries: 1,
      checkId,
      alertType: 'ALERT_FAILURE',
      alertConfig: { type: 'WEBHOOK', config: { webhookSecret: '', headers: [{ value: '' }, {}] } },
    });
  });

  it('sends all fields if a webhook has no template, and no body with GET', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/all` });
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/get`, method: 'GET' });
    await stage.runs(await stage.check({ name: 'Shop' }), 'failed');
    await stage.delivered();
    const bodies = Object.fromEntries(http.received.map(({ path, body }) => [path, body]));
    expect(JSON.parse(bodies['/all'] ?? '')).toMatchObject({
      alert_title: 'Shop has failed',
      alert_type: 'ALERT_FAILURE',
      check_name: 'Shop',
      tags: [],
      is_reminder: false,
    });
    expect(bodies['/get']).toBe('');
  });

  it('sends Slack a message, and mail with a subject, both with the error', async () => {
    await stage.channel('SLACK', { url: `${http.url}/slack`, channel: '#ops' });
    await stage.channel('EMAIL', { address: 'ops@example.com' });
    await stage.runs(await stage.check({ name: 'A <b> & c' }), 'failed');
    const notifications = await stage.delivered();
    const message = JSON.parse(only().body);
    expect(message).toMatchObject({ channel: '#ops', text: 'A &lt;b&gt; &amp; c has failed' });
    expect(JSON.stringify(message.attachments)).toContain('connect ECONNREFUSED');
    const [sent] = mail.received;
    expect(sent).toMatchObject({ from: 'alerts@picket.test', to: ['ops@example.com'] });
    const id = notifications.find(({ alertConfig }) => alertConfig.type === 'EMAIL')?.id;
    const { headers, text, html } = mailParts(sent ?? { source: '' });
    expect(headers.get('subject')).toBe('Failing: A <b> & c · lab');
    expect(headers.get('message-id')).toBe(`<${id}@picket.test>`);
    expect(html).toContain('A &lt;b&gt; &amp; c has failed</h1>');
    expect(text).toContain('A <b> & c has failed\n');
  });

  it('opens and resolves one incident at PagerDuty and Opsgenie', async () => {
    await stage.channel('PAGERDUTY', { serviceKey: 'routing' });
    await stage.channel('OPSGENIE', { apiKey: 'genie', priority: 'P1' });
    await stage.runs(await stage.check({ name: 'Shop' }), 'failed', 'passed');
    await stage.delivered();
    const at = (path: RegExp) => http.received.filter((request) => path.test(request.path));
    const events = at(/enqueue/).map(({ body }) => JSON.parse(body));
    expect(events.map((event) => [event.routing_key, event.event_action])).toEqual([
      ['routing', 'trigger'],
      ['routing', 'resolve'],
    ]);
    expect(events[0].dedup_key).toBe(events[1].dedup_key);
    expect(events[0].payload).toMatchObject({
      summary: 'Shop has failed',
      severity: 'critical',
      source: 'lab',
    });
    const [opened, closed] = at(/alerts/);
    expect(opened?.headers.authorization).toBe('GenieKey genie');
    const { alias, priority } = JSON.parse(opened?.body ?? '');
    expect(priority).toBe('P1');
    expect(closed?.path).toBe(`/v2/alerts/${alias}/close?identifierType=alias`);
  });

  it('retries with growing pauses, keeps the order, and gives up in the end', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url, template: '{{ALERT_TYPE}}' });
    const checkId = await stage.check({ frequency: 60 });
    http.answerNext(500, 503);
    stage.harness.startAlerting();
    await stage.runs(checkId, 'failed');
    const settled = (count: number) =>
      stage.advanceUntil(`${count} tries have ended`, async () => {
        const [oldest] = (await stage.notifications()).reverse();
        return http.received.length === count && oldest?.notificationResult !== null;
      });
    await settled(1);
    // A recovery waits for its failure to be sent first.
    const run = await stage.lease(checkId);
    const tries = http.received.length;
    await stage.report(run, 'passed');
    await stage.delivered(1_000);
    expect(tries).toBeGreaterThanOrEqual(1);
    expect(http.received.map(({ body }) => body)).toEqual([
      'ALERT_FAILURE',
      'ALERT_FAILURE',
      'ALERT_FAILURE',
      'ALERT_RECOVERY',
    ]);
    expect(new Set(http.received.slice(0, 3).map(idOf)).size).toBe(1);

    http.received.length = 0;
    http.answerNext(500, 500, 500, 500, 500, 500);
    await stage.runs(checkId, 'failed');
    const begun = stage.clock.wallMs();
    for (const [index, waitMs] of [20_000, 40_000, 80_000, 160_000, 320_000].entries()) {
      await stage.advanceUntil('the try was recorded', async () => {
        const ofNow = (await stage.notifications()).find(({ status }) => status === 'IN_PROGRESS');
        const row = await stage.harness.store.notifications.find(ofNow?.id ?? '');
        return row?.failed_tries === index + 1;
      });
      stage.clock.advance(waitMs - 5_000);
      expect(http.received).toHaveLength(index + 1);
      stage.clock.advance(5_000);
      await stage.advanceUntil('the next try', async () => http.received.length === index + 2);
    }
    const [last] = (await stage.delivered()).slice(-1);
    expect(last).toMatchObject({ status: 'FAILURE', notificationResult: 'status 500', tries: 6 });
    expect(stage.clock.wallMs() - begun).toBeGreaterThanOrEqual(620_000);
    expect(http.received).toHaveLength(6);
  });

  it('gives up after failed attempts, not after processes that ended during one', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url, template: '{{ALERT_TYPE}}' });
    const checkId = await stage.check({ frequency: 60 });
    await stage.runs(checkId, 'failed');
    const { notifications } = stage.harness.store;
    for (let process = 0; process < 8; process += 1) {
      const now = stage.clock.wallMs();
      const due = await notifications.due(now, 10, { channelIds: [], accountIds: [] });
      expect(due).toHaveLength(1);
      const positions = due.map(({ position }) => position);
      await stage.harness.store.transaction((nouns) =>
        nouns.notifications.claim(positions, now, now + 60_000),
      );
      stage.clock.advance(60_000);
    }
    http.answerNext(503);
    stage.harness.startAlerting();
    await stage.delivered(1_000);
    expect((await stage.notifications())[0]).toMatchObject({ status: 'SUCCESS', tries: 10 });
    expect(http.received).toHaveLength(2);
  });

  it('waits as long as a receiver requests', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url });
    http.headers = { 'retry-after': '300' };
    http.answerNext(429);
    stage.harness.startAlerting();
    await stage.runs(await stage.check({ frequency: 60 }), 'failed');
    await stage.advanceUntil('the try was recorded', async () => {
      const [newest] = await stage.notifications();
      return newest?.notificationResult === 'status 429';
    });
    stage.clock.advance(290_000);
    expect(http.received).toHaveLength(1);
    stage.clock.advance(10_000);
    await stage.advanceUntil('the next try', async () => http.received.length === 2);
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data', /link-local addresses.* closed by default/],
    ['http://[fd00:ec2::254]/', /cloud metadata services are closed by default/],
    ['http://2852039166/', /link-local addresses/],
    ['http://metadata.google.internal/', /cloud metadata/],
  ])('never calls %s', async (url, why) => {
    await stage.channel('WEBHOOK', { name: 'hook', url });
    await stage.runs(await stage.check(), 'failed');
    const [notification] = await stage.delivered();
    expect(notification).toMatchObject({ status: 'FAILURE', tries: 1 });
    expect(notification.notificationResult).toMatch(why);
  });

  it('follows no redirect', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url });
    http.headers = { location: `${http.url}/elsewhere` };
    http.answerNext(302);
    await stage.runs(await stage.check(), 'failed');
    const [notification] = await stage.delivered();
    expect(notification).toMatchObject({
      status: 'FAILURE',
      notificationResult: 'status 302: redirects are not followed',
    });
    expect(http.received).toHaveLength(1);
  });

  it('reports what it cannot deliver, at once and permanently', async () => {
    // Such channels can no longer be created, but an older build may have stored some.
    await stage.harness.store.alertChannels.insert({
      account_id: stage.harness.accountId,
      type: 'SMS',
      definition: JSON.stringify({ config: { name: 'me', number: '+491701234567' }, sendFailure: true }),
      created: stage.clock.wallMs(),
      updated: null,
    });
    await stage.channel('EMAIL', { address: 'nobody@example.com' });
    await stage.runs(await stage.check(), 'failed');
    const notifications = await stage.delivered();
    expect(notifications.map(({ status, tries }) => [status, tries])).toEqual(Array(2).fill(['FAILURE', 1]));
    const results = notifications.map(({ notificationResult }) => notificationResult);
    expect(results.some((result) => /no SMS provider: set SMS_PROVIDER/.test(result))).toBe(true);
    expect(results.some((result) => /550|not now/.test(result))).toBe(true);
  });

  it('retries mail that a server defers', async () => {
    await stage.channel('EMAIL', { address: 'ops@example.com' });
    mail.isBusy = true;
    await stage.runs(await stage.check({ frequency: 60 }), 'failed');
    stage.harness.startAlerting();
    await stage.advanceUntil(
      'it was refused',
      async () => (await stage.notifications())[0]?.notificationResult,
    );
    mail.isBusy = false;
    const [notification] = await stage.delivered(1_000);
    expect(notification.status).toBe('SUCCESS');
    expect(mail.received).toHaveLength(1);
  });

  it('spreads notifications beyond the limit of a channel', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url });
    const checkId = await stage.check({ frequency: 60 });
    await stage.runs(checkId, 'failed', 'passed', 'failed');
    stage.harness.startAlerting();
    await stage.advanceUntil('two were sent', async () => http.received.length === 2);
    // A notification in progress would be sent again if the clock jumped; waiting in this order avoids that.
    await until('the others were noted and the last was put off', async () => {
      const dueAt = await stage.harness.store.notifications.nextDueAt();
      const open = (await stage.notifications()).filter(({ status }) => status === 'IN_PROGRESS');
      return open.length === 1 && open[0].tries === 0 && Number(dueAt) > stage.clock.wallMs();
    });
    expect(http.received).toHaveLength(2);
    stage.clock.advance(minuteMs);
    await stage.delivered();
    expect(http.received).toHaveLength(3);
  });

  // Only a store that several processes share allows takeovers.
  if (!isShared) return;
  it('loses nothing between a result and its notification, whichever process dies', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: http.url });
    const checkId = await stage.check({ frequency: 60 });
    // The first service stores the result and never sends a notification.
    await stage.runs(checkId, 'failed');
    expect(http.received).toHaveLength(0);
    const second = await stage.openHere();
    // The second one is frozen while it sends; a third one takes over, with the same id.
    http.answerNext(0);
    second.startAlerting();
    await until('it is being told', () => http.received.length === 1);
    const third = await stage.openHere();
    third.startAlerting();
    stage.clock.advance(59_000);
    expect(http.received).toHaveLength(1);
    await stage.advanceUntil('it was told again', async () => http.received.length === 2);
    const [first, again] = http.received.map(idOf);
    expect(again).toBe(first);
    await stage.advanceUntil('it ended', async () => (await stage.notifications())[0]?.status === 'SUCCESS');
    // The connection of the frozen service breaks: its outcome no longer counts.
    await http.close();
    await second.close();
    stage.open.splice(stage.open.indexOf(second), 1);
    expect(await stage.notifications()).toMatchObject([{ status: 'SUCCESS', tries: 2 }]);
  });
}
