import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ChannelType } from '../../../../src/channels/index.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { documentedReceivers, receiverSettings } from '../channel-receivers/index.ts';
import type { AlertStage } from './alert-stage.ts';

/** Channels of every type with its own receiver, from the API to the receiver. */
export function receiverSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = { ...receiverSettings(http.url), PUBLIC_URL: 'https://picket.test' };
    await stage.start();
  });
  afterEach(() => http[Symbol.asyncDispose]());

  it.each(Object.entries(documentedReceivers))('%s gets a failure and its end', async (type, receiver) => {
    const { status, body } = receiver.accepted;
    http.body = body;
    http.answerNext(status, status);
    await stage.channel(type as ChannelType, receiver.config(http.url));
    const check = await stage.check({
      name: 'Shop',
      tags: ['team:core'],
      request: { url: 'http://shop.test/' },
    });
    await stage.runs(check, 'failed', 'passed');
    const notifications = await stage.delivered();
    expect(notifications).toMatchObject([
      { status: 'SUCCESS', notificationResult: `status ${status}`, tries: 1 },
      { status: 'SUCCESS', notificationResult: `status ${status}`, tries: 1 },
    ]);
    expect(http.received).toHaveLength(2);
    for (const request of http.received) receiver.check(request);
    const [failed, recovered] = http.received.map((request) => receiver.shown(request));
    expect(failed).toContain('Shop has failed');
    expect(failed).toMatch(/connect ECONNREFUSED "10\.0\.0\.5"/);
    expect(recovered).toContain('Shop has recovered');
    // The log contains no secret of a config.
    const secrets = ['xoxb-1', 'tk_secret', 'some-random-string', 'ABC-DEF', 'sig=x', 'token=t', 'abcd'];
    // Ids are hexadecimal digits, which may accidentally contain one of them.
    const shown = JSON.stringify(notifications).replaceAll(/[0-9a-f-]{36}/g, '');
    for (const secret of secrets) expect(shown).not.toContain(secret);
  });

  it('sends a Slack app message to each of its channels once, whatever some of them respond', async () => {
    const channels = ['#one', '#gone', '#three'];
    await stage.channel('SLACK_APP', { slackChannels: channels, botToken: 'xoxb-1' });
    const ok = '{"ok": true}';
    http.answerBodies(
      ok,
      '{"ok": false, "error": "is_archived"}',
      '{"ok": false, "error": "fatal_error"}',
      ok,
    );
    await stage.runs(await stage.check(), 'failed');
    const [notification] = await stage.delivered(1_000);
    expect(http.received.map(({ body }) => JSON.parse(body).channel)).toEqual([...channels, '#three']);
    expect(notification).toMatchObject({ status: 'FAILURE', tries: 2 });
    expect(notification.notificationResult).toBe('1 of 3 refused: status 200: is_archived');
  });
}
