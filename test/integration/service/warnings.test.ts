import { SMTPServer } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

const open: ServiceHarness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});
async function start(options: Parameters<typeof openHarness>[0] = {}): Promise<ServiceHarness> {
  const harness = await openHarness(options);
  open.push(harness);
  return harness;
}
const codes = (body: { warnings: { code: string }[] }) => body.warnings.map(({ code }) => code);

describe('a check that does not run', () => {
  it('reports so in responses and in the status: no location, or one without agents', async () => {
    const harness = await start();
    const location = await createLocation(harness, 'lab');
    const nowhere = await createCheck(harness);
    expect(codes(nowhere)).toEqual(['NO_LOCATION']);
    const status = (id: string) => harness.call('GET', `/v1/check-statuses/${id}`);
    expect((await status(nowhere.id)).body).toMatchObject({ checkId: nowhere.id, lastCheckRunId: null });
    expect(codes((await status(nowhere.id)).body)).toEqual(['NO_LOCATION']);
    const region = await createCheck(harness, { locations: ['eu-west-1'] });
    expect(codes(region)).toEqual(['NO_AGENT']);
    expect(region.warnings[0].message).toContain('Name one in "privateLocations"');
    const both = await createCheck(harness, { locations: ['us-east-1'], privateLocations: ['lab'] });
    expect(both.warnings[0].message).toContain('Remove it from "locations"');
    await harness.call('DELETE', `/v1/checks/${both.id}`);
    const waiting = await createCheck(harness, { privateLocations: ['lab'] });
    expect(codes(waiting)).toEqual(['NO_AGENT']);
    const all = await harness.call('GET', '/v1/check-statuses?neverRun=true');
    expect(all.body.map(codes).sort()).toEqual([['NO_AGENT'], ['NO_AGENT'], ['NO_LOCATION']]);

    await new TestAgent(harness, location).claim();
    const listed = await harness.call('GET', '/v1/checks');
    const byId = new Map(listed.body.map((check: { id: string }) => [check.id, check]));
    expect(codes(byId.get(waiting.id) as never)).toEqual([]);
    expect((await status(waiting.id)).body).toBeNull();
    // A deactivated check, or one that runs where its group says, has no warning.
    const off = await harness.call('PUT', `/v1/checks/${nowhere.id}`, { activated: false });
    expect(codes(off.body)).toEqual([]);
    const group = await harness.call('POST', '/v1/check-groups', { name: 'g', privateLocations: ['lab'] });
    const moved = await harness.call('PUT', `/v1/checks/${nowhere.id}`, {
      activated: true,
      groupId: group.body.id,
    });
    expect(codes(moved.body)).toEqual([]);
  });

  it('reports so if agents lack its type or its runtime', async () => {
    const harness = await start();
    const agent = new TestAgent(harness, await createLocation(harness, 'lab'));
    await agent.claim({ checkTypes: ['URL', 'BROWSER'], runtimes: ['2026.04'] });
    const browser = (runtimeId: string) =>
      harness.call('POST', '/v1/checks/browser', {
        name: 'b',
        script: 'x',
        runtimeId,
        privateLocations: ['lab'],
      });
    expect(codes((await browser('2026.04')).body)).toEqual([]);
    const old = await browser('2024.02');
    expect(codes(old.body)).toEqual(['UNSUPPORTED']);
    expect(old.body.warnings[0].message).toContain('runtime 2024.02');
    const status = await harness.call('GET', `/v1/check-statuses/${old.body.id}`);
    expect(codes(status.body)).toEqual(['UNSUPPORTED']);
    const inFirefox = await harness.call('POST', '/v1/checks/browser', {
      name: 'b',
      script: "import { firefox } from 'playwright'; await firefox.launch();",
      privateLocations: ['lab'],
    });
    expect(codes(inFirefox.body)).toEqual(['UNSUPPORTED']);
    expect(inFirefox.body.warnings[0].message).toContain(
      'type BROWSER with the runtime 2026.04 and firefox. If a browser is missing on its host, install it with "picket browsers install firefox".',
    );
    const suite = {
      name: 's',
      codeBundlePath: `${'a'.repeat(64)}-1`,
      privateLocations: ['lab'],
      browsers: ['firefox'],
    };
    await agent.claim({ checkTypes: ['PLAYWRIGHT'] });
    const firefox = await harness.call('POST', '/v1/checks/playwright', suite);
    expect(codes(firefox.body)).toEqual(['UNSUPPORTED']);
    expect(firefox.body.warnings[0].message).toContain('"picket browsers install firefox"');
    await agent.claim({ checkTypes: ['PLAYWRIGHT'], browsers: [{ name: 'firefox', version: '1490' }] });
    const served = await harness.call('GET', `/v1/checks/${firefox.body.id}`);
    expect(codes(served.body)).toEqual([]);
    const tcp = await harness.call('POST', '/v1/checks/tcp', {
      name: 't',
      request: { hostname: 'a.test', port: 1 },
      privateLocations: ['lab'],
    });
    expect(codes(tcp.body)).toEqual(['UNSUPPORTED']);
  });
});

describe('a channel', () => {
  const hook = { type: 'WEBHOOK', config: { name: 'h', url: 'http://a.test/' } };

  it('reports that no check is subscribed; one call subscribes everything, or what has a tag', async () => {
    const harness = await start();
    const [tagged, plain] = [await createCheck(harness, { tags: ['prod'] }), await createCheck(harness)];
    const { body: channel } = await harness.call('POST', '/v1/alert-channels', hook);
    expect(codes(channel)).toEqual(['NO_SUBSCRIBER']);
    const path = `/v1/alert-channels/${channel.id}`;
    const bulk = (body: object) => harness.call('POST', `${path}/subscriptions/bulk`, body);
    expect((await bulk({ tags: ['prod'] })).body).toEqual({ checks: 1, groups: 0, warnings: [] });
    const subscribed = async () =>
      (await harness.call('GET', path)).body.subscriptions.map(({ checkId }: { checkId: string }) => checkId);
    expect(await subscribed()).toEqual([tagged.id]);
    expect(codes((await harness.call('GET', path)).body)).toEqual([]);
    expect((await bulk({ all: true })).body).toMatchObject({ checks: 2 });
    expect((await subscribed()).sort()).toEqual([tagged.id, plain.id].sort());
    await bulk({ all: true, activated: false });
    expect(codes((await harness.call('GET', path)).body)).toEqual(['NO_SUBSCRIBER']);
    for (const body of [{}, { all: true, tags: ['prod'] }, { all: false }, { tags: [] }]) {
      expect((await bulk(body)).status).toBe(400);
    }
  });

  it('replaces no other: groups are subscribed only if they have channels', async () => {
    const harness = await start();
    const { body: first } = await harness.call('POST', '/v1/alert-channels', hook);
    const group = (name: string, alertChannelSubscriptions: object[]) =>
      harness.call('POST', '/v1/check-groups?autoAssignAlerts=false', { name, alertChannelSubscriptions });
    const withChannels = await group('with', [{ alertChannelId: first.id }]);
    const without = await group('without', []);
    expect(withChannels.body.alertChannelSubscriptions).toEqual([
      { alertChannelId: first.id, activated: true },
    ]);
    const inGroup = await createCheck(harness, { groupId: withChannels.body.id, tags: ['prod'] });
    const own = await createCheck(harness, { groupId: without.body.id });
    const { body: second } = await harness.call('POST', '/v1/alert-channels', hook);
    const bulk = (body: object) =>
      harness.call('POST', `/v1/alert-channels/${second.id}/subscriptions/bulk`, body);
    expect(codes((await bulk({ tags: ['prod'] })).body)).toEqual(['GROUP_CHANNELS']);
    expect((await bulk({ all: true })).body).toEqual({ checks: 2, groups: 1, warnings: [] });
    const notified = async (id: string, groupId: number) =>
      (await harness.store.alertChannels.notifiedOfCheck(id, groupId)).map((channel) => channel.id);
    expect(await notified(inGroup.id, withChannels.body.id)).toEqual([first.id, second.id]);
    expect(await notified(own.id, without.body.id)).toEqual([first.id, second.id]);
    const shown = await harness.call('GET', `/v1/check-groups/${withChannels.body.id}`);
    expect(
      shown.body.alertChannelSubscriptions.map((one: { alertChannelId: number }) => one.alertChannelId),
    ).toEqual([first.id, second.id]);
    const listed = await harness.call('GET', '/v1/check-groups');
    expect(
      listed.body.map(
        ({ alertChannelSubscriptions: all }: { alertChannelSubscriptions: object[] }) => all.length,
      ),
    ).toEqual(expect.arrayContaining([0, 2]));
  });

  it('is created and changed with its subscriptions, all of which must exist', async () => {
    const harness = await start();
    const check = await createCheck(harness);
    const made = await harness.call('POST', '/v1/alert-channels', {
      ...hook,
      subscriptions: [{ checkId: check.id.toUpperCase() }],
    });
    expect(made.body.subscriptions).toMatchObject([{ checkId: check.id, groupId: null, activated: true }]);
    const path = `/v1/alert-channels/${made.body.id}`;
    expect((await harness.call('PUT', path, { sendDegraded: true })).body.subscriptions).toHaveLength(1);
    expect((await harness.call('PUT', path, { subscriptions: [] })).body.subscriptions).toEqual([]);
    const wrong = await harness.call('PUT', path, { subscriptions: [{ groupId: 999 }, {}] });
    expect([wrong.status, wrong.body.validation.keys]).toEqual([
      400,
      ['subscriptions.0.groupId', 'subscriptions.1.checkId'],
    ]);
  });

  it('of mail reports that it is delivered only if there is a mail server', async () => {
    const mail = { type: 'EMAIL', config: { address: 'a@b.test' } };
    const { body: without } = await (await start()).call('POST', '/v1/alert-channels', mail);
    expect([without.isDelivered, codes(without)]).toEqual([false, ['NOT_DELIVERED', 'NO_SUBSCRIBER']]);
    const alerting = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'picket@b.test' };
    const { body: with_ } = await (await start({ alerting })).call('POST', '/v1/alert-channels', mail);
    expect([with_.isDelivered, codes(with_)]).toEqual([true, ['NO_SUBSCRIBER']]);
  });

  it('is sent a test, and the response shows the result', async () => {
    const subjects: string[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, _session, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
        stream.on('end', () => {
          subjects.push(/^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? '');
          done();
        });
      },
    });
    const { port } = await new Promise<{ port: number }>((resolve) => {
      const listening = server.listen(0, '127.0.0.1', () => resolve(listening.address() as { port: number }));
    });
    try {
      const harness = await start({
        hasMailer: true,
        alerting: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'picket@b.test' },
      });
      harness.startAlerting();
      const test = async (channel: object) => {
        const { body } = await harness.call('POST', '/v1/alert-channels', { ...channel, sendFailure: false });
        return harness.call('POST', `/v1/alert-channels/${body.id}/test`);
      };
      const mailed = await test({ type: 'EMAIL', config: { address: 'a@b.test' } });
      expect([mailed.status, mailed.body.status]).toEqual([200, 'SUCCESS']);
      expect(subjects).toEqual(['Test: Picket sends its alerts here']);
      const unreachable = await test({
        type: 'WEBHOOK',
        config: { name: 'h', url: 'http://169.254.169.254/' },
      });
      expect(unreachable.body).toMatchObject({
        status: 'FAILURE',
        result: expect.stringContaining('closed'),
      });
      expect((await harness.call('GET', '/v1/check-alerts')).body).toEqual([]);
      const { body: told } = await harness.call('GET', '/v1/alert-notifications');
      expect(told.map(({ alertType }: { alertType: string }) => alertType)).toEqual([
        'ALERT_TEST',
        'ALERT_TEST',
      ]);
      expect((await harness.call('POST', '/v1/alert-channels/999/test')).status).toBe(404);
    } finally {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  });
});

describe('a maintenance window without effect', () => {
  const times = { name: 'w', startsAt: '2999-01-01T00:00:00Z', endsAt: '2999-01-02T00:00:00Z' };
  it.each([
    ['that concerns nothing', {}, ['tags']],
    ['that shows nothing', { statusPageVisibility: { enabled: false } }, ['tags']],
    [
      'that is over',
      { pauseAllChecks: true, startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-01-02T00:00:00Z' },
      ['endsAt'],
    ],
  ])('%s is refused', async (_what, fields, keys) => {
    const harness = await start();
    const { status, body } = await harness.call('POST', '/v1/maintenance-windows', { ...times, ...fields });
    expect([status, body.validation?.keys]).toEqual([400, keys]);
  });
});
