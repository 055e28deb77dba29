import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { maxConnectionsPerAccount } from '../../../src/extras/live-mqtt/live-results.ts';
import { MqttListener, suiteTopic } from '../../helpers/clients/mqtt-listener.ts';
import {
  createCheck,
  createLocation,
  metricsToken,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';

/** The location of a run's assets in its final message. */
const Ended = z.object({
  testResultId: z.string(),
  result: z.object({ assets: z.object({ region: z.string(), logPath: z.string() }) }),
});

const runLocation = { type: 'PRIVATE', slugName: 'lab' };
const down = { owner: 'target', code: 'CONNECTION_REFUSED', message: 'nobody listens' } as const;
const broken = { owner: 'agent', code: 'SANDBOX_UNAVAILABLE', message: 'no sandbox' } as const;

describe('live results over MQTT', () => {
  let harness: ServiceHarness;
  let url: string;
  let agent: TestAgent;
  const listeners: MqttListener[] = [];

  beforeEach(async () => {
    harness = await openHarness();
    await harness.app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(harness.app.server.address() as AddressInfo).port}`;
    agent = new TestAgent(harness, await createLocation(harness, 'lab'));
    await agent.claim();
  });
  afterEach(async () => {
    for (const listener of listeners.splice(0)) listener[Symbol.dispose]();
    await harness.close();
  });

  const listen = (protocols?: string[]) => {
    const listener = new MqttListener(url, protocols);
    listeners.push(listener);
    return listener;
  };
  const follow = async (suiteId: string, { accountId, key } = harness) => {
    const listener = listen();
    await listener.connect(accountId, key);
    await listener.subscribe(suiteTopic(accountId, suiteId));
    await until('it is subscribed', () => listener.answers.length === 2);
    return listener;
  };
  const job = (logicalId: string, suiteId: string) => ({
    logicalId,
    checkType: 'URL',
    name: logicalId,
    request: { url: 'http://shop.test/' },
    filePath: `src/${logicalId}.check.ts`,
    sourceInfo: { checkRunSuiteId: suiteId, checkRunId: randomUUID(), updateSnapshots: false },
  });
  const run = async (body: object) => {
    const { status, body: answer } = await harness.call('POST', '/v1/test-sessions/run', {
      name: 'try',
      runLocation,
      ...body,
    });
    expect(status, JSON.stringify(answer)).toBe(202);
    return answer;
  };

  it('report the begin and the end of each run, with its log and data', async () => {
    const suiteId = randomUUID();
    const listener = await follow(suiteId);
    expect(listener.answers).toMatchObject([
      { cmd: 'connack', returnCode: 0 },
      { cmd: 'suback', granted: [0] },
    ]);
    const jobs = ['good', 'bad', 'ours'].map((name) => job(name, suiteId));
    const started = await run({ checkRunJobs: jobs, streamLogs: true });
    const leased = await agent.claim();
    await until('all have begun', () => listener.heard.length === 3);
    expect(listener.heard.map(({ event }) => event)).toEqual(['run-start', 'run-start', 'run-start']);
    const failures = { good: null, bad: down, ours: broken };
    await agent.report(
      leased.map((one) => reportOf(one, { failure: failures[one.check.name as keyof typeof failures] })),
    );
    const endOf = (name: string) =>
      listener.heard.find(
        ({ topic, event }) =>
          topic.split('/')[4] === started.sequenceIds[name] && (event === 'result' || event === 'error'),
      );
    await until('all have ended', () => ['good', 'bad', 'ours'].every(endOf));
    expect(endOf('good')?.payload).toMatchObject({
      resultType: 'FINAL',
      result: { name: 'good', checkType: 'URL', sourceFile: 'src/good.check.ts', hasFailures: false },
    });
    expect(endOf('bad')?.payload).toMatchObject({ result: { hasFailures: true, isDegraded: false } });
    // A run that could not start has not passed, and does not count against the target.
    expect(endOf('ours')).toMatchObject({ event: 'error', payload: 'no sandbox' });
    expect(listener.heard.filter(({ event }) => event === 'stream-logs')).toHaveLength(3);

    const { testResultId, result } = Ended.parse(endOf('bad')?.payload);
    const { region, logPath } = result.assets;
    const log = await harness.call('GET', `/next/assets/log/${region}/${logPath}`);
    expect(log.body).toEqual({ setup: [], request: [], teardown: [] });
    const data = await harness.call('GET', `/next/assets/check-run-data/${region}/${logPath}`);
    expect(data.status).toBe(200);
    const other = await harness.addAccount();
    const foreign = await harness.call('GET', `/next/assets/log/${region}/${logPath}`, undefined, {
      key: other.key,
    });
    expect(foreign.status).toBe(404);
    const links = await harness.call(
      'GET',
      `/next/test-sessions/${started.testSessionId}/results/${testResultId}/links`,
    );
    expect(links.body).toMatchObject({ testTraceLinks: [], videoLinks: [], screenshotLinks: [] });
  });

  it('tell late or returning subscribers what they missed; nothing twice, and only their own', async () => {
    const suiteId = randomUUID();
    await run({ checkRunJobs: [job('one', suiteId), job('two', suiteId)] });
    const [first, second] = await agent.claim();
    if (first) await agent.report([reportOf(first)]);
    const late = await follow(suiteId);
    await until('it knows what was', () => late.heard.length === 3);
    const foreign = await harness.addAccount();
    const stranger = await follow(suiteId, { ...harness, ...foreign });
    if (second) await agent.report([reportOf(second, { failure: down })]);
    await until('it knows the end', () => late.heard.length === 4);
    expect(late.heard.map(({ event }) => event).sort()).toEqual([
      'result',
      'result',
      'run-start',
      'run-start',
    ]);
    expect(stranger.heard).toEqual([]);
  });

  it('report runs of checks that a trigger started, and cancelled runs', async () => {
    const check = await createCheck(harness, { privateLocations: ['lab'], locations: [], tags: ['shop'] });
    const suiteId = randomUUID();
    const listener = await follow(suiteId);
    const trigger = (body: object) =>
      harness.call('POST', '/next/test-sessions/trigger', { runLocation, ...body });
    const none = await trigger({ targetTags: [['nothing']], checkRunSuiteId: suiteId });
    expect(none).toMatchObject({ status: 403, body: { errorCode: 'ERR_NO_MATCHING_CHECKS' } });
    const nowhere = await trigger({ runLocation: { type: 'PUBLIC', region: 'eu-west-1' } });
    expect(nowhere.status).toBe(400);
    expect(nowhere.body.message).toContain('--private-location): there are lab');
    const { body, status } = await trigger({ targetTags: [['shop']], checkRunSuiteId: suiteId });
    expect(status).toBe(202);
    expect(body.checks).toEqual([{ id: check.id, name: 'a monitor', checkType: 'URL' }]);
    await harness.call('POST', `/v1/test-sessions/${body.testSessionId}/cancel`);
    await until('it is told', () => listener.heard.length === 1);
    expect(listener.heard[0]?.topic.split('/')[4]).toBe(body.sequenceIds[check.id]);
    // If the result contained a source file, clients would look the check up by it.
    expect(listener.heard[0]).toMatchObject({
      payload: { result: { isCancelled: true, hasFailures: false } },
    });
    expect(listener.heard[0]).not.toHaveProperty('payload.result.sourceFile');
  });

  it('run where the agents of the account are if the client sends no location, and say so', async () => {
    const check = await createCheck(harness, { privateLocations: ['lab'], locations: [] });
    // Sent by command lines if neither a flag nor a configuration sets a location.
    const unsaid = { type: 'PUBLIC', region: 'eu-central-1' };
    const trigger = () =>
      harness.call('POST', '/next/test-sessions/trigger', { runLocation: unsaid, checkId: check.id });
    const runOne = () =>
      harness.call('POST', '/v1/test-sessions/run', {
        name: 'try',
        runLocation: unsaid,
        checkRunJobs: [job('home', randomUUID())],
      });
    const spare = await createLocation(harness, 'spare');
    for (const start of [trigger, runOne]) {
      const { status, body } = await start();
      expect(status, JSON.stringify(body)).toBe(202);
      const session = await harness.call('GET', `/v1/test-sessions/${body.testSessionId}`);
      expect(session.body).toMatchObject({
        runLocation: 'lab',
        metadata: { askedLocation: 'eu-central-1' },
      });
    }
    await new TestAgent(harness, spare, 'agent-2').claim();
    for (const start of [trigger, runOne]) {
      const several = await start();
      expect([several.status, several.body.validation?.keys]).toEqual([400, ['runLocation.region']]);
      expect(several.body.message).toContain(
        'agents are at several private locations; name one (--private-location): lab, spare',
      );
    }
  });

  it.each([
    ['another account', async () => ({ account: (await harness.addAccount()).accountId, key: harness.key })],
    ['an unknown key', async () => ({ account: harness.accountId, key: 'no-such-key' })],
    ['no key', async () => ({ account: harness.accountId, key: '' })],
  ])('are refused to %s', async (_what, credentials) => {
    const listener = listen();
    const { account, key } = await credentials();
    await listener.connect(account, key);
    expect(await listener.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('API key') });
    expect(listener.answers).toMatchObject([{ cmd: 'connack', returnCode: 5 }]);
  });

  it('refuse topics of other accounts, and anything wider than one suite', async () => {
    const other = await harness.addAccount();
    const listener = listen();
    await listener.connect(harness.accountId, harness.key);
    const own = `account/${harness.accountId}`;
    const filters = [
      suiteTopic(other.accountId, randomUUID()),
      suiteTopic('+', randomUUID()),
      '#',
      `${own}/#`,
      `${own}/ad-hoc-check-results/+/+/+/+`,
      '$SYS/#',
    ];
    for (const [index, filter] of filters.entries()) await listener.subscribe(filter, index + 1);
    await until('all are answered', () => listener.answers.length === 1 + filters.length);
    expect(listener.answers.slice(1)).toEqual(
      filters.map(() => expect.objectContaining({ cmd: 'suback', granted: [128] })),
    );
    for (let index = 0; index < 21; index += 1)
      await listener.subscribe(suiteTopic(harness.accountId, `s${index}`));
    await until('the last is answered', () => listener.answers.length === 1 + filters.length + 21);
    expect(listener.answers.at(-2)).toMatchObject({ granted: [0] });
    expect(listener.answers.at(-1)).toMatchObject({ granted: [128] });
  });

  it('end connections that do anything but listen', async () => {
    const wrong: [string, (listener: MqttListener) => Promise<void>][] = [
      [
        'a message',
        (one) => one.send({ cmd: 'publish', topic: 't', payload: 'x', qos: 0, dup: false, retain: false }),
      ],
      ['a second CONNECT', (one) => one.connect(harness.accountId, harness.key)],
      ['no MQTT', (one) => one.sendBytes(Buffer.from('GET / HTTP/1.1\r\n\r\n'))],
      [
        'a packet without an end',
        (one) => one.sendBytes(Buffer.concat([Buffer.from([0x82, 0xff, 0xff, 0x7f]), Buffer.alloc(60_000)])),
      ],
    ];
    for (const [what, does] of wrong) {
      const listener = listen();
      await listener.connect(harness.accountId, harness.key);
      await does(listener);
      if (what === 'a packet without an end') await does(listener);
      expect([what, (await listener.closed).code]).toEqual([what, 1002]);
    }
    const silent = listen();
    await silent.subscribe(suiteTopic(harness.accountId, randomUUID()));
    expect((await silent.closed).code).toBe(1002);
    await expect(listen(['chat']).send({ cmd: 'pingreq' })).rejects.toThrow('400');
  });

  it('allow a limited number of connections per account, and release them', async () => {
    const thousand = Array.from({ length: 1000 }, () => listen());
    for (const one of thousand) await one.connect(harness.accountId, harness.key);
    await until('all are answered', () => thousand.every(({ answers }) => answers.length === 1));
    const codes = thousand.map(({ answers: [answer] }) =>
      answer?.cmd === 'connack' ? answer.returnCode : undefined,
    );
    const all = thousand.filter((_one, index) => codes[index] === 0);
    expect(all).toHaveLength(maxConnectionsPerAccount);
    expect(codes.filter((code) => code === 3)).toHaveLength(1000 - maxConnectionsPerAccount);
    expect((await thousand.at(-1)?.closed)?.code).toBe(1013);
    const metrics = async () =>
      (await harness.call('GET', '/metrics', undefined, { key: metricsToken })).body as string;
    expect(await metrics()).toContain(`picket_live_connections ${maxConnectionsPerAccount}`);
    expect(await metrics()).toContain('picket_live_refusals_total{reason="too-many-connections"} 900');
    all[0]?.[Symbol.dispose]();
    await until('there is room', async () =>
      (await metrics()).includes(`picket_live_connections ${maxConnectionsPerAccount - 1}`),
    );
    const next = listen();
    await next.connect(harness.accountId, harness.key);
    await until('it is in', () => next.answers.length === 1);
    expect(next.answers).toMatchObject([{ returnCode: 0 }]);
  });

  it('ignore requests for another protocol', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
      request(`${url}/-/liveness`, { headers }, (answer) => resolve(answer.statusCode))
        .once('error', reject)
        .end();
    });
    expect(status).toBe(200);
  });
});

describe('compressed bodies', () => {
  let harness: ServiceHarness;
  beforeEach(async () => {
    harness = await openHarness();
  });
  afterEach(() => harness.close());

  const post = async (payload: Buffer, encoding: string) => {
    const answer = await harness.app.inject({
      method: 'POST',
      url: '/v1/checks/url',
      payload,
      headers: {
        authorization: `Bearer ${harness.key}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
    });
    return { status: answer.statusCode, message: answer.json().message as string };
  };

  it('are decompressed, up to the limit of the operation', async () => {
    const check = JSON.stringify({ name: 'packed', request: { url: 'http://shop.test/' } });
    expect((await post(gzipSync(check), 'gzip')).status).toBe(201);
    expect(await post(Buffer.from(check), 'gzip')).toEqual({
      status: 400,
      message: 'The body is not valid gzip.',
    });
    expect((await post(gzipSync(check).subarray(0, 40), 'gzip')).status).toBe(400);
    expect((await post(gzipSync(check), 'br')).status).toBe(415);
    const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20, ' '));
    expect(bomb.length).toBeLessThan(300_000);
    expect((await post(bomb, 'gzip')).status).toBe(413);
  });
});
