import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { findChannelKind } from '../../../../src/channels/index.ts';
import { createCheck } from '../../../helpers/service/service.ts';
import { type AlertStage, ownSettings } from './alert-stage.ts';

/** Alert channels through the API, and their subscriptions. */
export function channelSuite(stage: AlertStage): void {
  beforeEach(async () => {
    stage.alerting = {};
    await stage.start();
  });
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const mailTo = (address: string, flags: object = {}) => stage.channel('EMAIL', { address }, flags);

  it.each(['READ_WRITE', 'ADMIN'] as const)(
    'sends no locked value to the URL that a %s key sets for a webhook',
    async (role) => {
      const { harness } = stage;
      const headers = [{ key: 'authorization', value: 'Bearer the-secret', locked: true }];
      const config = { name: 'hook', url: 'https://hooks.example.com/a', headers, webhookSecret: 'signing' };
      const { body: made } = await call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config });
      const path = `/v1/alert-channels/${made.id}`;
      const key = await harness.addKey(role);
      const change = (changes: object) => harness.call('PUT', path, { config: changes }, { key });
      const stored = async () =>
        (await harness.store.alertChannels.find(harness.accountId, made.id))?.definition.config;
      for (const written of [{ ...made.config, url: 'https://evil.example/' }, { url: '{{X}}' }]) {
        const { status, body } = await change(written);
        expect([status, body.validation?.keys]).toEqual([
          400,
          ['config.webhookSecret', 'config.headers.0.value'],
        ]);
        expect(body.message).toContain('must be entered again');
      }
      expect(await stored()).toMatchObject(config);
      expect((await change({ ...made.config, url: 'https://hooks.example.com/b' })).status).toBe(200);
      expect(await stored()).toMatchObject({ ...config, url: 'https://hooks.example.com/b' });
      const entered = { url: 'https://other.example/', headers: [], webhookSecret: 'another' };
      expect((await change(entered)).status).toBe(200);
    },
  );

  it.each([
    // There is no mail server.
    ['EMAIL', { address: 'ops@example.com' }, false],
    ['SLACK', { url: 'https://hooks.example.com/x', channel: '#ops' }, true],
    ['SLACK_APP', { slackChannels: ['#ops'], botToken: 'xoxb-1' }, true],
    ['WEBHOOK', { name: 'hook', url: 'https://example.com/{{CHECK_ID}}' }, true],
    ['PAGERDUTY', { serviceKey: 'routing-key', serviceName: 'shop', account: 'acme' }, true],
    ['OPSGENIE', { name: 'team', apiKey: 'key', region: 'EU', priority: 'P2' }, true],
    ['MSTEAMS', { name: 'ops', url: 'https://teams.example.com/x' }, true],
    ['TELEGRAM', { name: 'ops', botToken: '123:abc', chatId: '@ops', messageThreadId: 7 }, true],
    ['DISCORD', { name: 'ops', url: 'https://discord.example.com/x' }, true],
    ['NTFY', { name: 'ops', url: 'https://ntfy.example.com', topic: 'ops', token: 'tk_1' }, true],
    ['GOOGLE_CHAT', { name: 'ops', url: 'https://chat.example.com/x' }, true],
    ['INCIDENT_IO', { name: 'ops', url: 'https://api.example.com/x', token: 'token' }, true],
    ['ALERTMANAGER', { url: 'http://am.example.com', bearerToken: 'token', labels: { team: 'a' } }, true],
  ])('keeps a channel of type %s', async (type, config, isDelivered) => {
    const made = await call('POST', '/v1/alert-channels', { type, config, sendDegraded: true });
    expect(made.status).toBe(201);
    const masked = findChannelKind(type)?.masked.map(({ path }) => path[1] ?? '') ?? [];
    const secrets = Object.fromEntries(
      masked.filter((key) => typeof config[key as keyof typeof config] === 'string').map((key) => [key, '']),
    );
    expect(made.body).toMatchObject({
      type,
      config: { ...config, ...secrets },
      sendFailure: true,
      sendRecovery: true,
      sendDegraded: true,
      sslExpiry: false,
      sslExpiryThreshold: 30,
      autoSubscribe: false,
      isDelivered,
      subscriptions: [],
      updated_at: null,
    });
    const path = `/v1/alert-channels/${made.body.id}`;
    expect((await call('GET', path)).body).toEqual(made.body);
    expect((await call('GET', '/v1/alert-channels')).body).toEqual([made.body]);
    // Writing a response back changes only the time.
    const changed = await call('PUT', path, made.body);
    expect(changed.status).toBe(200);
    const stored = await stage.harness.store.alertChannels.find(stage.harness.accountId, made.body.id);
    expect(stored?.definition.config).toMatchObject(config);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });

  it.each([
    [{ type: 'FAX', config: {} }, ['type']],
    [{ type: 'EMAIL', config: { address: 'nobody' } }, ['config.address']],
    [{ type: 'EMAIL', config: { address: 'a@example.com, b@example.com' } }, ['config.address']],
    [{ type: 'SLACK', config: { url: 'ftp://example.com' } }, ['config.url']],
    [{ type: 'SMS', config: { number: '12' } }, ['config.number']],
    // The service has no provider, and no app token.
    [{ type: 'SMS', config: { number: '+491701234567' } }, ['type']],
    [{ type: 'CALL', config: { number: '+491701234567' } }, ['type']],
    [{ type: 'SLACK_APP', config: { slackChannels: ['#ops'] } }, ['type']],
    [{ type: 'TELEGRAM', config: { botToken: 'x/../y', chatId: '1' } }, ['config.botToken']],
    [{ type: 'TELEGRAM', config: { botToken: '1:a', chatId: 'ops' } }, ['config.chatId']],
    [{ type: 'NTFY', config: { topic: 'a/b' } }, ['config.topic']],
    [{ type: 'DISCORD', config: { url: 'file:///etc/passwd' } }, ['config.url']],
    [
      { type: 'ALERTMANAGER', config: { url: 'http://am.test', labels: { 'a b': 'c' } } },
      ['config.labels.a b'],
    ],
    [{ type: 'EMAIL', config: { address: 'a@example.com' }, sslExpiryThreshold: 31 }, ['sslExpiryThreshold']],
    [{ type: 'WEBHOOK', config: { name: 'x', url: 'example.com' } }, ['config.url']],
    [{ type: 'WEBHOOK', config: { name: 'x', url: 'http://x.test/{{' } }, ['config.url']],
    [
      { type: 'WEBHOOK', config: { name: 'x', url: 'http://x.test', template: '{{#if A}}' } },
      ['config.template'],
    ],
    [
      {
        type: 'WEBHOOK',
        config: { name: 'x', url: 'http://x.test', template: '{{#*inline "a"}}{{> a}}{{/inline}}{{> a}}' },
      },
      ['config.template'],
    ],
    [
      { type: 'WEBHOOK', config: { name: 'x', url: 'http://x.test', headers: [{ key: 'a b', value: '' }] } },
      ['config.headers.0.key'],
    ],
  ])('refuses %j and names the field', async (body, keys) => {
    const answer = await call('POST', '/v1/alert-channels', body);
    expect([answer.status, answer.body.validation?.keys]).toEqual([400, keys]);
  });

  it('changes single fields, and a whole config with its type', async () => {
    const id = await stage.channel('WEBHOOK', {
      name: 'hook',
      url: 'http://x.test',
      webhookSecret: 'secret',
      headers: [{ key: 'authorization', value: 'Bearer x', locked: true }],
    });
    const path = `/v1/alert-channels/${id}`;
    const changed = await call('PUT', path, {
      sendFailure: false,
      config: { url: 'http://x.test/y' },
    });
    expect(changed.body).toMatchObject({
      sendFailure: false,
      config: { name: 'hook', url: 'http://x.test/y' },
    });
    expect(changed.body.config).toMatchObject({ webhookSecret: '', headers: [{ value: '' }] });
    const stored = await stage.harness.store.alertChannels.find(stage.harness.accountId, id);
    expect(stored?.definition.config).toMatchObject({
      webhookSecret: 'secret',
      headers: [{ value: 'Bearer x' }],
    });
    const broken = await call('PUT', path, { type: 'EMAIL' });
    expect([broken.status, broken.body.validation.keys]).toEqual([400, ['config']]);
    const other = await call('PUT', path, { type: 'EMAIL', config: { address: 'a@example.com' } });
    expect(other.body.config).toEqual({ address: 'a@example.com' });
  });

  it('subscribes a new check to all channels, to automatic ones, and to named ones', async () => {
    const [first, second, third] = [
      await mailTo('a@example.com'),
      await mailTo('b@example.com', { autoSubscribe: true }),
      await mailTo('c@example.com'),
    ];
    const everywhere = await createCheck(stage.harness, ownSettings);
    const ids = (check: { alertChannelSubscriptions: { alertChannelId: number }[] }) =>
      check.alertChannelSubscriptions.map(({ alertChannelId }) => alertChannelId);
    expect(ids(everywhere)).toEqual([first, second, third]);
    expect(everywhere.alertChannels.email.map(({ address }: { address: string }) => address)).toEqual([
      'a@example.com',
      'b@example.com',
      'c@example.com',
    ]);
    const body = {
      ...ownSettings,
      name: 'named',
      request: { url: 'http://target.test/' },
      alertChannelSubscriptions: [{ alertChannelId: third, activated: false }],
    };
    const named = await call('POST', '/v1/checks/url?autoAssignAlerts=false', body);
    expect(named.body.alertChannelSubscriptions).toEqual([
      { alertChannelId: third, activated: false },
      { alertChannelId: second, activated: true },
    ]);
    // An update without subscriptions keeps them; one with subscriptions replaces them; autoAssignAlerts has no effect
    // on updates.
    const path = `/v1/checks/url/${named.body.id}`;
    expect(ids((await call('PUT', path, { muted: true })).body)).toEqual([third, second]);
    const replaced = await call('PUT', `${path}?autoAssignAlerts=true`, {
      alertChannelSubscriptions: [{ alertChannelId: first }],
    });
    expect(ids(replaced.body)).toEqual([first]);
    expect(ids((await call('GET', `/v1/checks/${named.body.id}`)).body)).toEqual([first]);
    const listed = (await call('GET', '/v1/checks?search=named')).body;
    expect(listed.map(ids)).toEqual([[first]]);
    const wrong = await call('PUT', path, { alertChannelSubscriptions: [{ alertChannelId: 999_999 }] });
    expect(wrong.body.validation.keys).toEqual(['alertChannelSubscriptions.0.alertChannelId']);
    // Deleting a channel deletes its subscriptions.
    await call('DELETE', `/v1/alert-channels/${first}`);
    expect(ids((await call('GET', `/v1/checks/${named.body.id}`)).body)).toEqual([]);
  });

  it('subscribes a check to a channel and disables that', async () => {
    const id = await mailTo('a@example.com');
    const check = await createCheck(stage.harness, { ...ownSettings, alertChannelSubscriptions: [] });
    const path = `/v1/alert-channels/${id}/subscriptions`;
    for (const activated of [true, false]) {
      const answer = await call('PUT', path, { checkId: check.id.toUpperCase(), activated });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ checkId: check.id, groupId: null, activated });
      const channel = await call('GET', `/v1/alert-channels/${id}`);
      expect(channel.body.subscriptions).toEqual([answer.body]);
    }
    await stage.runs(check.id, 'failed');
    expect(await stage.notifications()).toEqual([]);
    for (const [body, status] of [
      [{ activated: true }, 400],
      [{ checkId: check.id, groupId: 1, activated: true }, 400],
      [{ checkId: check.id, activated: 'perhaps' }, 400],
      [{ checkId: randomUUID(), activated: true }, 404],
    ] as const) {
      expect((await call('PUT', path, body)).status).toBe(status);
    }
  });

  it('shows nothing of one account to another', async () => {
    const id = await mailTo('a@example.com');
    const mine = await createCheck(stage.harness, ownSettings);
    await stage.runs(mine.id, 'failed');
    const { key } = await stage.harness.addAccount();
    const foreign = (method: string, path: string, body?: unknown) =>
      stage.harness.call(method, path, body, { key });
    for (const [method, path, body] of [
      ['GET', `/v1/alert-channels/${id}`, undefined],
      ['PUT', `/v1/alert-channels/${id}`, { sendFailure: false }],
      ['DELETE', `/v1/alert-channels/${id}`, undefined],
      ['PUT', `/v1/alert-channels/${id}/subscriptions`, { checkId: mine.id, activated: true }],
      ['GET', `/v1/check-alerts/${mine.id}`, undefined],
    ] as const) {
      expect((await foreign(method, path, body)).status, `${method} ${path}`).toBe(404);
    }
    for (const path of ['/v1/alert-channels', '/v1/check-alerts', '/v1/alert-notifications']) {
      expect((await foreign('GET', path)).body).toEqual([]);
    }
    const theirs = await foreign('POST', '/v1/alert-channels', {
      type: 'EMAIL',
      config: { address: 'x@example.com' },
    });
    const stolen = await call('PUT', `/v1/checks/${mine.id}`, {
      alertChannelSubscriptions: [{ alertChannelId: theirs.body.id, activated: true }],
    });
    expect(stolen.status).toBe(400);
    expect(await stage.notifications('&hasFailures=true')).toHaveLength(1);
    expect(await stage.notifications('&hasFailures=false')).toEqual([]);
    expect(await stage.notifications(`&alertChannelId=${theirs.body.id}`)).toEqual([]);
    expect((await call('GET', '/v1/check-alerts?from=0&to=99999999')).status).toBe(400);
  });
}
